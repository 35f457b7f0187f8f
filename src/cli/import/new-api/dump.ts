import { UsageError } from '../../../shared/config/config-error.ts'
import { bounded, TABLES } from './rows.ts'
import type { Row, Table } from './rows.ts'

/**
 * Reads the rows of an SQL dump with INSERT statements, as `sqlite3 .dump`, `mysqldump` and `pg_dump --inserts` write it. Throws
 * UsageError at the first statement about one of the tables that it cannot read.
 */
export function readDump(file: string, sql: string): ReadonlyMap<Table, readonly Row[]> {
  const scanner = new Scanner(file, sql)
  const columns = new Map<Table, readonly string[]>()
  const rows = new Map<Table, Row[]>()
  for (let word = scanner.word(); word !== null; word = scanner.word()) {
    if (word === 'CREATE') {
      const table = scanner.createdTable()
      if (table !== null) {
        columns.set(table, scanner.columnsOfTable())
        rows.set(table, rows.get(table) ?? [])
      }
    } else if (word === 'INSERT') {
      const table = scanner.insertedTable()
      if (table !== null) {
        const names = scanner.takes('(') ? scanner.names() : columns.get(table)
        if (names === undefined) throw scanner.error(`the dump lacks CREATE TABLE of "${table}"`)
        const known = rows.get(table) ?? []
        rows.set(table, known)
        for (const values of scanner.tuples()) {
          known.push(Object.fromEntries(names.map((name, index) => [name, values[index]])))
        }
      }
    } else if (word === 'COPY') {
      throw scanner.error(
        'the dump has COPY statements: make it with pg_dump --inserts, or give the address of the Postgres',
      )
    }
    scanner.skipStatement()
  }
  return new Map([...rows].map(([table, list]) => [table, bounded(table, list)]))
}

/** Words with which an entry of CREATE TABLE begins that is no column. */
const NO_COLUMN = /^(PRIMARY|KEY|UNIQUE|CONSTRAINT|INDEX|FULLTEXT|SPATIAL|CHECK|FOREIGN|EXCLUDE)$/i
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', '0': '\0', Z: '\x1a' }

class Scanner {
  readonly #file: string
  readonly #sql: string
  #at = 0
  /** MySQL escapes with backslashes; the standard does not. */
  #hasBackslashes = false

  constructor(file: string, sql: string) {
    this.#file = file
    this.#sql = sql
  }

  error(problem: string): UsageError {
    const line = this.#sql.slice(0, this.#at).split('\n').length
    return new UsageError(`${this.#file}:${line}: ${problem}`)
  }

  /** The next word in capitals; null at the end. Another character than a letter counts as a word. */
  word(): string | null {
    this.#skipSpace()
    if (this.#at >= this.#sql.length) return null
    const word = this.#match(/[A-Za-z_]+/y)
    if (word !== null) return word.toUpperCase()
    return this.#sql.charAt(this.#at) === ';' ? ';' : '?'
  }

  takes(character: string): boolean {
    this.#skipSpace()
    if (this.#sql.charAt(this.#at) !== character) return false
    this.#at++
    return true
  }

  createdTable(): Table | null {
    if (this.word() !== 'TABLE') return null
    this.#skipSpace()
    this.#match(/IF\s+NOT\s+EXISTS\s+/iy)
    const table = this.#table()
    return table !== null && this.takes('(') ? table : null
  }

  insertedTable(): Table | null {
    this.#skipSpace()
    this.#match(/(IGNORE|OR\s+\w+)\s+/iy)
    if (this.word() !== 'INTO') return null
    this.#skipSpace()
    const isOfMysql = this.#sql.charAt(this.#at) === '`'
    this.#hasBackslashes = isOfMysql
    return this.#table()
  }

  /** The names up to the closing parenthesis. */
  names(): string[] {
    const names: string[] = []
    do names.push(this.#name())
    while (this.takes(','))
    this.#expect(')')
    return names
  }

  columnsOfTable(): string[] {
    const names: string[] = []
    do {
      this.#skipSpace()
      const isQuoted = /["`[]/.test(this.#sql.charAt(this.#at))
      const name = this.#name()
      if (isQuoted || !NO_COLUMN.test(name)) names.push(name)
      this.#skipTo(/[,)]/)
    } while (this.takes(','))
    this.#expect(')')
    return names
  }

  *tuples(): Generator<unknown[]> {
    if (this.word() !== 'VALUES') throw this.error('VALUES is missing')
    do {
      this.#expect('(')
      const values: unknown[] = []
      do values.push(this.#value())
      while (this.takes(','))
      this.#expect(')')
      yield values
    } while (this.takes(','))
  }

  /** Skips the rest of the statement, with its semicolon. */
  skipStatement(): void {
    this.#skipTo(/;/)
    this.#at++
  }

  /** Skips to one of the characters, over texts and parentheses. */
  #skipTo(end: RegExp): void {
    let depth = 0
    for (; this.#at < this.#sql.length; this.#at++) {
      this.#skipSpace()
      const character = this.#sql.charAt(this.#at)
      if (depth === 0 && end.test(character)) return
      if (character === '(') depth++
      else if (character === ')') depth--
      else if (character === "'") {
        this.#text()
        this.#at--
      } else if (character === '"' || character === '`') {
        this.#name()
        this.#at--
      }
    }
  }

  #table(): Table | null {
    let name = this.#name()
    if (this.takes('.')) name = this.#name()
    return TABLES.find((table) => table === name) ?? null
  }

  #name(): string {
    this.#skipSpace()
    const quoted = this.#match(/"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/y)
    if (quoted !== null) return quoted.slice(1, -1).replaceAll('""', '"').replaceAll('``', '`')
    const plain = this.#match(/[^\s"'`(),;.]+/y)
    if (plain === null) throw this.error('a name is missing')
    return plain
  }

  #value(): unknown {
    this.#skipSpace()
    if (this.#sql.charAt(this.#at) === "'") return this.#text()
    const hex = this.#match(/0x[0-9A-Fa-f]*|[xX]'[0-9A-Fa-f]*'/y)
    if (hex !== null) return Buffer.from(hex.replace(/^0x|^[xX]'|'$/g, ''), 'hex')
    const number = this.#match(/[+-]?[0-9]*\.?[0-9]+([eE][+-]?\d+)?/y)
    if (number !== null) return Number(number)
    const word = this.#match(/[A-Za-z_]\w*/y)
    switch (word?.toUpperCase()) {
      case 'NULL':
        return null
      case 'TRUE':
        return true
      case 'FALSE':
        return false
      case undefined:
        throw this.error('a value cannot be read')
      default:
        // A text with its character set, as in _binary 'text'; E'text' is the form of Postgres with backslashes.
        this.#skipSpace()
        if (this.#sql.charAt(this.#at) === "'") return word === 'E' ? this.#escapedText() : this.#text()
        return this.#call(word ?? '')
    }
  }

  /** The functions with which SQLite writes line breaks. */
  #call(name: string): string {
    this.#expect('(')
    const values: string[] = []
    do values.push(String(this.#value()))
    while (this.takes(','))
    this.#expect(')')
    const [first = '', second = '', third = ''] = values
    switch (name.toLowerCase()) {
      case 'replace':
        return first.replaceAll(second, () => third)
      case 'char':
        return String.fromCodePoint(...values.map(Number))
      case 'unistr':
        return first.replace(/\\\\|\\u([0-9A-Fa-f]{4})|\\\+([0-9A-Fa-f]{6})/g, (whole, four: string, six: string) =>
          whole === '\\\\' ? '\\' : String.fromCodePoint(Number.parseInt(four ?? six, 16)),
        )
      default:
        throw this.error(`the function "${name}" is not known`)
    }
  }

  #escapedText(): string {
    const before = this.#hasBackslashes
    this.#hasBackslashes = true
    const text = this.#text()
    this.#hasBackslashes = before
    return text
  }

  #text(): string {
    const quoted = this.#match(this.#hasBackslashes ? /'[^'\\]*(?:(?:\\[^]|'')[^'\\]*)*'/y : /'[^']*(?:''[^']*)*'/y)
    if (quoted === null) throw this.error('a text does not end')
    const inner = quoted.slice(1, -1)
    if (!this.#hasBackslashes) return inner.replaceAll("''", "'")
    return inner.replace(/''|\\([^])/g, (whole, character: string) =>
      whole === "''" ? "'" : (ESCAPES[character] ?? character),
    )
  }

  #expect(character: string): void {
    if (!this.takes(character)) throw this.error(`"${character}" is missing`)
  }

  #skipSpace(): void {
    this.#match(/(?:\s+|--[^\n]*|#[^\n]*|\/\*[^]*?\*\/)+/y)
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#sql)?.[0] ?? null
    if (found !== null) this.#at += found.length
    return found
  }
}
