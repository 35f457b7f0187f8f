import { Button } from '@mantine/core'
import { useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { bytes, exact } from '../../format/numbers.ts'
import type { ExportFormat } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icons.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { useLocale } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { LogQuery } from './filter.ts'
import { exportLog } from './log-calls.ts'
import classes from './requests-page.module.css'

const TOLD_EVERY_MS = 250
const LINE_FEED = 10

interface Progress {
  readonly rows: number
  readonly size: number
}

export interface Export {
  readonly progress: Progress | null
  readonly start: (format: ExportFormat) => void
  readonly cancel: () => void
}

/** Reads the filtered log into a file. The rows are counted as they arrive, and it can be stopped. */
export function useExport(scope: Scope, query: LogQuery): Export {
  const t = useWords('requests')
  const [progress, setProgress] = useState<Progress | null>(null)
  const controller = useRef<AbortController | null>(null)
  const run = async (format: ExportFormat): Promise<void> => {
    const { signal } = (controller.current = new AbortController())
    setProgress({ rows: 0, size: 0 })
    try {
      const parts: Uint8Array<ArrayBuffer>[] = []
      let [rows, size, toldAt] = [0, 0, 0]
      const stream = await exportLog(scope, query, format, signal)
      for await (const piece of stream) {
        parts.push(piece as Uint8Array<ArrayBuffer>)
        size += piece.length
        for (const byte of piece) if (byte === LINE_FEED) rows += 1
        if (performance.now() - toldAt < TOLD_EVERY_MS) continue
        toldAt = performance.now()
        setProgress({ rows, size })
      }
      saveFile(new Blob(parts, { type: stream.contentType }), `requests.${format}`)
      toast('good', t('exported'))
    } catch (cause) {
      if (!signal.aborted) tellFailure(cause)
    } finally {
      setProgress(null)
    }
  }
  return {
    progress,
    start: (format) => {
      void run(format)
    },
    cancel: () => {
      controller.current?.abort()
    },
  }
}

export function ExportProgress({ file }: { readonly file: Export }): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const locale = useLocale()
  if (file.progress === null) return null
  const { rows, size } = file.progress
  return (
    <div className={classes.progress} role="status">
      <Icon name="download" size={14} />
      <span>{t('exporting', { rows: exact(rows, locale), size: bytes(size, locale) })}</span>
      <Button variant="default" size="xs" onClick={file.cancel}>
        {common('cancel')}
      </Button>
    </div>
  )
}
