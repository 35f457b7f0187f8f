import { Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { exact } from '../../format/numbers.ts'
import { Icon } from '../../parts/icons.tsx'
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

type Format = 'csv' | 'ndjson'

/** Saves the entries of the filter as a file. */
export function ExportAudit({ scope, queryNow }: ExportProps): ReactNode {
  const t = useWords('audit')
  const locale = useLocale()
  const act = useSubmission()
  const [count, setCount] = useState(0)
  const run = (format: Format): void => {
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
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon name="download" size={14} />} disabled={act.isBusy}>
          {act.isBusy ? t('exporting', { rows: exact(count, locale) }) : t('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('exportAbout')}</Menu.Label>
        {(['csv', 'ndjson'] as const).map((format) => (
          <Menu.Item
            key={format}
            onClick={() => {
              run(format)
            }}
          >
            {t(`formats.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
