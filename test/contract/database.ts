import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BinaryRows } from '../../src/control/store/binary-copy.ts'
import type { Database } from '../../src/control/store/database.ts'
import { DatabaseError, isDataError } from '../../src/control/store/database.ts'

/** What every `Database` does, whatever its driver: the same values in and out, the same errors, the same transactions. */
export function databaseContract(open: () => Promise<Database>): void {
  describe('as a database', () => {
    let database: Database
    const one = async (sql: string, ...parameters: unknown[]): Promise<unknown> => {
      const [row] = await database.query<{ value: unknown }>(`SELECT ${sql} AS value`, parameters)
      return row?.value
    }

    beforeAll(async () => {
      database = await open()
      await database.script('CREATE TABLE counters (name text PRIMARY KEY, value int4 NOT NULL)')
    })
    afterAll(() => database.close())

    it('gives int8 as a number while that is exact, and as a bigint beyond', async () => {
      expect(await one('9007199254740991::int8')).toBe(9007199254740991)
      expect(await one('-9007199254740991::int8')).toBe(-9007199254740991)
      expect(await one('9007199254740993::int8')).toBe(9007199254740993n)
      expect(await one('(SELECT count(*) FROM (SELECT 1) AS t)')).toBe(1)
      expect(await one('array[1, 9007199254740993, NULL]::int8[]')).toEqual([1, 9007199254740993n, null])
    })

    it('gives numeric as a string, with its zeros', async () => {
      expect(await one('1.50::numeric')).toBe('1.50')
      expect(await one('array[1.50, NULL]::numeric[]')).toEqual(['1.50', null])
    })

    it('gives times as dates, and days and intervals as strings', async () => {
      expect(await one(`'2025-03-30T01:30:00.123+02'::timestamptz`)).toEqual(new Date('2025-03-29T23:30:00.123Z'))
      expect(await one(`'2025-03-30'::date`)).toBe('2025-03-30')
      expect(await one(`'1 day 02:00:00'::interval`)).toBe('1 day 02:00:00')
    })

    it('gives bytes as a Buffer, json parsed, texts in arrays', async () => {
      const bytes = await one(`'\\x00ff'::bytea`)
      expect(Buffer.isBuffer(bytes) && bytes.equals(Buffer.from([0, 255]))).toBe(true)
      expect(await one(`'{"a": [1, null]}'::jsonb`)).toEqual({ a: [1, null] })
      expect(await one(`'[1]'::json`)).toEqual([1])
      expect(await one(`array['a', NULL, '{"b,\\c}']`)).toEqual(['a', null, '{"b,\\c}'])
      expect(await one('array[true, NULL]')).toEqual([true, null])
      expect(await one('1.5::float8')).toBe(1.5)
    })

    it.each([
      ['int8', 9007199254740991],
      ['int8', 9007199254740993n],
      ['timestamptz', new Date('2025-10-26T00:59:59.999Z')],
      ['text', 'naïve 😀 "quoted" \\ back'],
      ['bytea', Buffer.from([0, 1, 92, 255])],
      ['text[]', ['a', null, '', 'NULL', 'with "quotes", commas {and} \\']],
      ['int8[]', [1, null, 9007199254740991]],
      ['float8[]', [1.5, 1_735_732_800_123]],
      ['bool[]', [true, false, null]],
      ['bytea[]', [Buffer.from([0, 92, 34]), Buffer.from([])]],
      ['text', null],
      ['text[]', []],
    ])('takes a %s and gives it back', async (type, value) => {
      expect(await one(`$1::${type}`, value)).toEqual(value)
    })

    it('takes JSON as text', async () => {
      expect(await one('$1::jsonb', JSON.stringify({ a: ['"'] }))).toEqual({ a: ['"'] })
    })

    it('runs prepared statements any number of times', async () => {
      const statement = { name: 'contract-add', text: 'SELECT $1::int4 + $2::int4 AS value' }
      for (let i = 0; i < 3; i++) expect(await database.query(statement, [i, 1])).toEqual([{ value: i + 1 }])
    })

    it('takes rows in binary and gives them back', async () => {
      await database.script(
        'CREATE TABLE copied (n int4, big int8, at timestamptz, flag bool, name text, PRIMARY KEY (n))',
      )
      const columns = ['n', 'big', 'at', 'flag', 'name']
      const bigs = [0, 1, -1, 4_294_967_295, -4_294_967_297, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
      const rows = new BinaryRows(0)
      for (const [n, big] of bigs.entries()) {
        rows.row(columns.length)
        rows.int4(n)
        rows.int8(big)
        rows.timestamptz(Date.UTC(1999, 11, 31) + n * 86_400_001)
        rows.bool(n % 2 === 0)
        rows.text('naïve 😀 \t"\\\n'.repeat(n))
      }
      rows.row(columns.length)
      rows.int4(99)
      for (let i = 1; i < columns.length; i++) rows.null()
      await database.copyIn('copied', columns, rows.finish())

      const expected = bigs.map((big, n) => ({
        n,
        big,
        at: new Date(Date.UTC(1999, 11, 31) + n * 86_400_001),
        flag: n % 2 === 0,
        name: 'naïve 😀 \t"\\\n'.repeat(n),
      }))
      const empty = { n: 99, big: null, at: null, flag: null, name: null }
      expect(await database.query('SELECT * FROM copied ORDER BY n')).toEqual([...expected, empty])
    })

    it('keeps none of the rows in binary when one of them is refused, and goes on', async () => {
      await database.script('CREATE TABLE copied_whole (name text PRIMARY KEY)')
      const rowsOf = (...names: string[]): Buffer => {
        const rows = new BinaryRows(0)
        for (const name of names) {
          rows.row(1)
          rows.text(name)
        }
        return rows.finish()
      }
      for (const names of [
        ['a', 'b\0'],
        ['a', 'a'],
      ]) {
        const refused = await database
          .copyIn('copied_whole', ['name'], rowsOf(...names))
          .catch((cause: unknown) => cause)
        expect(isDataError(refused)).toBe(true)
      }
      await database.transaction((tx) => tx.copyIn('copied_whole', ['name'], rowsOf('c')))
      expect(await database.query('SELECT * FROM copied_whole')).toEqual([{ name: 'c' }])
    })

    it('keeps rows in binary apart that are copied in at once, more of them than are read at a time', async () => {
      const names = ['a', 'b', 'c']
      await Promise.all(
        names.map(async (name, index) => {
          await database.script(`CREATE TABLE copied_${name} (name text, value text)`)
          const rows = new BinaryRows(0)
          for (let row = 0; row < 1000 * (index + 1); row++) {
            rows.row(2)
            rows.text(name)
            rows.text(`${name}${row}`.padEnd(200, name))
          }
          await database.copyIn(`copied_${name}`, ['name', 'value'], rows.finish())
        }),
      )
      for (const [index, name] of names.entries()) {
        const sums = `SELECT count(*), count(DISTINCT value) AS values, min(name), max(name), sum(length(value)) AS length FROM copied_${name}`
        const count = 1000 * (index + 1)
        const expected = { count, values: count, min: name, max: name, length: count * 200 }
        const [row] = await database.query<Record<string, unknown>>(sums)
        expect({ ...row, length: Number(row?.['length']) }).toEqual(expected)
      }
    })

    it('commits a transaction that resolves', async () => {
      const result = await database.transaction(async (tx) => {
        await tx.query(`INSERT INTO counters VALUES ('kept', 1)`)
        return 'done'
      })
      expect(result).toBe('done')
      expect(await one(`(SELECT value FROM counters WHERE name = 'kept')`)).toBe(1)
    })

    it('rolls back a transaction that rejects, with its own error, and goes on', async () => {
      const failure = new Error('mine')
      const attempt = database.transaction(async (tx) => {
        await tx.query(`INSERT INTO counters VALUES ('lost', 1)`)
        throw failure
      })
      await expect(attempt).rejects.toBe(failure)
      expect(await one(`(SELECT value FROM counters WHERE name = 'lost')`)).toBeNull()
    })

    it('rejects when a failed statement was swallowed and nothing was committed', async () => {
      const attempt = database.transaction(async (tx) => {
        await tx.query(`INSERT INTO counters VALUES ('half', 1)`)
        await tx.query('SELECT 1 / 0').catch(() => undefined)
      })
      await expect(attempt).rejects.toThrow()
      expect(await one(`(SELECT value FROM counters WHERE name = 'half')`)).toBeNull()
    })

    it('tells errors of the data from others', async () => {
      const division = await database.query('SELECT 1 / 0').catch((cause: unknown) => cause)
      expect(division).toBeInstanceOf(DatabaseError)
      expect(division).toMatchObject({ sqlState: '22012' })
      expect(isDataError(division)).toBe(true)
      const inTransaction = await database
        .transaction((tx) => tx.query('SELECT 1 / 0'))
        .catch((cause: unknown) => cause)
      expect(isDataError(inTransaction)).toBe(true)
      const nul = await database.query('SELECT $1::text', ['a\0']).catch((cause: unknown) => cause)
      expect(isDataError(nul)).toBe(true)
      const missing = await database.query('SELECT * FROM nothing').catch((cause: unknown) => cause)
      expect(missing).toMatchObject({ sqlState: '42P01' })
      expect(isDataError(missing)).toBe(false)
      expect(isDataError(new Error('22012'))).toBe(false)
    })

    it('runs scripts of several statements', async () => {
      await database.script(`INSERT INTO counters VALUES ('s1', 1); INSERT INTO counters VALUES ('s2', 2)`)
      expect(await one(`(SELECT sum(value)::int4 FROM counters WHERE name LIKE 's_')`)).toBe(3)
    })

    it('hears notifications until it is told not to', async () => {
      const heard: string[] = []
      const end = await database.listen('Some channel', (payload) => heard.push(payload))
      await database.query(`SELECT pg_notify('Some channel', 'first')`)
      await expect.poll(() => heard).toEqual(['first'])
      await end()
      await database.query(`SELECT pg_notify('Some channel', 'second')`)
      await database.ping()
      expect(heard).toEqual(['first'])
    })

    it('measures a round trip', async () => {
      expect(await database.ping()).toBeGreaterThan(0)
    })
  })
}
