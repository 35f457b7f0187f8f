import type { AuditEntry } from './audit-calls.ts'

const COLUMNS = [
  'time',
  'user_id',
  'role',
  'operation',
  'target_id',
  'outcome',
  'error_code',
  'address',
  'request_id',
  'path',
] as const

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf(rows: readonly AuditEntry[]): string {
  const lines = rows.map((row) => [...COLUMNS.map((name) => row[name] ?? ''), JSON.stringify(row.changes ?? [])])
  return [[...COLUMNS, 'changes'], ...lines].map((line) => `${line.map(cell).join(',')}\r\n`).join('')
}

function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function ndjsonOf(rows: readonly AuditEntry[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}
