import type { Queryable } from '../store/database.ts'
import { listLogRows } from '../store/request-log.ts'
import type { LogCursor, LogFilter, LogPage, LogScope, RequestLogRow } from '../store/request-log.ts'

/** Rows held in memory at a time, whatever the size of the export. */
const PAGE_ROWS = 500

type Entry = Readonly<Record<string, string | number | boolean | null>>

/** Yields the rows of a scope as text, newest first, one page at a time. Ends early when the client disconnects. */
export async function* exportedRows(
  database: Queryable,
  scope: LogScope,
  filter: LogFilter,
  format: 'csv' | 'ndjson',
  entryOf: (row: RequestLogRow) => Entry,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let after: LogCursor | null = null
  let isFirst = true
  for (;;) {
    const page: LogPage = await listLogRows(database, scope, filter, { limit: PAGE_ROWS, after })
    const entries = page.rows.map(entryOf)
    const lines = entries.map((entry) => (format === 'csv' ? csvLine(Object.values(entry)) : JSON.stringify(entry)))
    const [first] = entries
    if (isFirst && format === 'csv' && first !== undefined) lines.unshift(csvLine(Object.keys(first)))
    isFirst = false
    if (lines.length > 0) yield Buffer.from(lines.join('\n') + '\n')
    if (page.next === null || signal.aborted) return
    after = page.next
  }
}

/** RFC 4180. A text that a spreadsheet would run as a formula gets a quote in front: clients choose some of these texts. */
function csvLine(values: ReadonlyArray<string | number | boolean | null>): string {
  return values.map(csvField).join(',')
}

function csvField(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
