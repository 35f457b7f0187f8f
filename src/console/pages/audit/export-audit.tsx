import { useState } from 'react'
import type { ReactNode } from 'react'
import { exact } from '../../format/numbers.ts'
import { ExportMenu } from '../../parts/export-menu.tsx'
import type { ExportFormat } from '../../parts/export-menu.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { told } from '../../parts/told.ts'
import { useLocale } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { MAX_EXPORTED, readAll } from './audit-calls.ts'
import type { AuditQuery } from './audit-calls.ts'
import { csvOf, ndjsonOf } from './csv.ts'

interface ExportProps {
  readonly scope: Scope
  readonly queryNow: () => AuditQuery
}

/** Saves the entries of the filter as a file. */
export function ExportAudit({ scope, queryNow }: ExportProps): ReactNode {
  const t = useWords('audit')
  const locale = useLocale()
  const act = useSubmission()
  const [count, setCount] = useState(0)
  const run = (format: ExportFormat): void => {
    setCount(0)
    const work = async (): Promise<void> => {
      const rows = await readAll(scope, queryNow(), setCount, AbortSignal.timeout(120_000))
      const text = format === 'csv' ? csvOf(rows) : ndjsonOf(rows)
      saveFile(new Blob([text], { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' }), `audit.${format}`)
      toast(
        rows.length < MAX_EXPORTED ? 'good' : 'note',
        t(rows.length < MAX_EXPORTED ? 'exported' : 'exportedPart', { rows: exact(rows.length, locale) }),
      )
    }
    const working = work()
    void act.run(() => working)
    told(working)
  }
  const progress = act.isBusy ? t('exporting', { rows: exact(count, locale) }) : null
  return <ExportMenu about={t('exportAbout')} isBusy={act.isBusy} progress={progress} onExport={run} />
}
