import type { Queryable } from '../store/database.ts'
import { listLogRows } from '../store/request-log.ts'
import type { LogFilter, LogScope } from '../store/log-filter.ts'
import type { LogCursor, LogPage, RequestLogRow } from '../store/request-log.ts'

/** Rows held in memory at a time, whatever the size of the export. With bodies, a row may have half a megabyte and more. */
export const PAGE_ROWS = 500
export const PAGE_ROWS_WITH_BODIES = 20

type Value = string | number | boolean | null | Readonly<Record<string, string>>

export type LogFileEntry = Readonly<Record<string, Value>>

/** The part of each row that an export has. */
export interface LogFile {
  readonly entriesOf: (rows: readonly RequestLogRow[]) => Promise<LogFileEntry[]>
  readonly pageRows: number
}

/** Yields the rows of a scope as text, newest first, one page at a time. Ends early when the client disconnects. */
export async function* exportedRows(
  database: Queryable,
  scope: LogScope,
  filter: LogFilter,
  format: 'csv' | 'ndjson',
  { entriesOf, pageRows }: LogFile,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let after: LogCursor | null = null
  let isFirst = true
  for (;;) {
    const page: LogPage = await listLogRows(database, scope, filter, { limit: pageRows, after })
    const entries = await entriesOf(page.rows)
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
function csvLine(values: readonly Value[]): string {
  return values.map(csvField).join(',')
}

function csvField(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const given = typeof value === 'string' ? value : JSON.stringify(value)
  const text = /^[=+\-@\t\r]/.test(given) ? `'${given}` : given
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
