import { UsageError } from '../../../shared/config/config-error.ts'
import { isObject } from '../../../shared/config/is-object.ts'

/** A row of the database, by column. Drivers differ in the types of their values. */
export type Row = Readonly<Record<string, unknown>>

/** The tables that are read. */
export const TABLES = ['channels', 'tokens', 'users', 'options'] as const

export type Table = (typeof TABLES)[number]

/** More rows than a configuration file can reasonably hold. */
export const MAX_ROWS = 100_000

/** The rows in the order of their ids. Throws when there are too many. */
export function bounded(table: Table, rows: readonly Row[]): readonly Row[] {
  if (rows.length > MAX_ROWS) throw new UsageError(`the table "${table}" has more than ${MAX_ROWS} rows`)
  return [...rows].sort((a, b) => number(a, 'id') - number(b, 'id'))
}

/** Returns '' for NULL and for a column that the table lacks. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

/** Returns 0 for NULL, for a column that the table lacks, and for what is no number. */
export function number(row: Row, column: string): number {
  const value = Number(text(row, column))
  return Number.isFinite(value) ? value : 0
}

export function flag(row: Row, column: string): boolean {
  const value = row[column]
  return value === true || /^(1|t|true)$/i.test(text(row, column))
}

/** The object of a column with JSON; an empty one for anything else. */
export function json(row: Row, column: string): Readonly<Record<string, unknown>> {
  const value = row[column]
  return isObject(value) && !(value instanceof Uint8Array) ? value : objectOf(text(row, column))
}

export function objectOf(source: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(source)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** The parts of a list, trimmed, each once. */
export function list(source: string, separator: string): string[] {
  const parts = source.split(separator).map((part) => part.trim())
  return [...new Set(parts.filter((part) => part !== ''))]
}

/** The place of a row in messages. */
export function placeOf(table: Table, row: Row): string {
  return `${table}[id=${text(row, 'id')}]`
}

/** Rows that gorm has deleted keep their place, with a time. */
export function isDeleted(row: Row): boolean {
  const value = row['deleted_at']
  return value !== undefined && value !== null && value !== ''
}
