import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVENT_STREAM } from '../../../src/shared/api/operation.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { dose, firstCases } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const corpus = new URL('../../fixtures/corpora/naughty-strings/blns.json', import.meta.url)
const WILDCARDS = [
  '%',
  '_',
  '\\',
  "' OR '1'='1",
  '\0',
  'a%b',
  '%%',
  '__',
  '\\\\',
  '%_',
  '\\%',
  '_%_',
  'a_b',
  'a\\b',
  "'",
  'a\0b',
]
const STRINGS = [...new Set([...(JSON.parse(readFileSync(corpus, 'utf8')) as string[]), ...WILDCARDS])]
const ODD_NUMBERS = [
  '0',
  '-1',
  '1e300',
  '99999999999999999999',
  'NaN',
  'Infinity',
  '0x10',
  ' 1',
  '1.5',
  '9007199254740993',
]
const ODD_TIMES = [
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '2026-02-30T00:00:00Z',
  '2026-01-01T00:00:00+99:99',
  'now',
]
/** Every list is asked for each so manyth string, and each string is asked of some of them. */
const EVERY = dose('SLUICE_TEST_STRINGS_EVERY', { short: 160, long: 4 })
/** The same of odd numbers and times. */
const EVERY_NUMBER = dose('SLUICE_TEST_NUMBERS_EVERY', { short: 5, long: 1 })
/** Asked for at the same time. */
const LANES = 8
const TIMEOUT_MS = 400_000

/** Names that differ only where a wildcard would not see it. */
const ALIKE = ['a%b', 'a_b', 'a\\b', 'axb', 'AXB', 'Ärger%b']

/** Wildcards, and those of the corpus whose turn it is. */
function stringsOf(turn: number): string[] {
  const wildcards = firstCases(6, WILDCARDS)
  return STRINGS.filter((text, at) => wildcards.includes(text) || (at + turn) % EVERY === 0)
}

const MOST_QUERY_BYTES = 6_000
/** With `=` and `&`. */
const LONGEST_FIELD = 24

interface Lists {
  readonly name: OperationName
  /** Text fields of the query, and the others. */
  readonly texts: readonly string[]
  readonly others: readonly string[]
}

let gateway: TestGateway
let admin: ManagementClient
let enterpriseId: string

beforeAll(async () => {
  gateway = await startGateway()
  admin = await ManagementClient.ofAdmin(gateway)
  for (const name of ALIKE) {
    enterpriseId = String((await admin.expect('adminCreateEnterprise', 201, { body: { name } })).json['id'])
  }
  await Promise.all(ALIKE.filter(isHeader).map((agent) => askAs(agent)))
  await eventually(
    async () => {
      const { json } = await admin.expect('adminListLogs', 200)
      expect(json['data']).toHaveLength(ALIKE.filter(isHeader).length)
    },
    { timeoutMs: 40_000 },
  )
}, 120_000)

afterAll(async () => {
  await gateway.stop()
})

function isHeader(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/** Leaves a row in the log. */
async function askAs(agent: string): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      'content-type': 'application/json',
      'user-agent': agent,
      'x-client-request-id': agent,
    },
    body: JSON.stringify({ model: agent, messages: [{ role: 'user', content: 'hi' }] }),
  })
  await response.arrayBuffer()
  expect(response.status).toBe(404)
}

/** Every operation that reads a list, and what its query takes. Streams of events take what lists take. */
const LISTS: readonly Lists[] = (Object.entries(OPERATIONS) as ReadonlyArray<[OperationName, OperationSpec]>).flatMap(
  ([name, { method, query, answer }]) => {
    if (method !== 'GET' || query === undefined || answer.media === EVENT_STREAM) return []
    const fields = Object.entries(query.properties as Record<string, { type?: unknown; format?: unknown }>)
    const isText = ([, { type, format }]: (typeof fields)[number]): boolean => type === 'string' && format === undefined
    const named = (of: typeof fields): string[] => of.map(([field]) => field)
    return [{ name, texts: named(fields.filter(isText)), others: named(fields.filter((field) => !isText(field))) }]
  },
)

/** Asks, and holds the answer to what is promised: no answer is the gateway's fault. */
async function ask(name: OperationName, query: Record<string, string>): Promise<Record<string, unknown> | null> {
  const { status, json, text } = await admin.call(name, { params: { id: enterpriseId }, query })
  expect([200, 302, 400, 404], `${name} ${JSON.stringify(query)}: ${text}`).toContain(status)
  return status === 200 ? json : null
}

/** Works on all of `items`, some at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]()
  const lane = async (): Promise<void> => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** The fields in as few groups as a URL has room for: the server refuses longer heads before anything looks at them. */
function fitting(fields: readonly string[], text: string): string[][] {
  const bytes = new URLSearchParams({ q: text }).toString().length + LONGEST_FIELD
  const most = Math.max(1, Math.floor(MOST_QUERY_BYTES / bytes))
  return Array.from({ length: Math.ceil(fields.length / most) }, (_, group) =>
    fields.slice(group * most, (group + 1) * most),
  )
}

/** As the store has it. */
const stored = (text: string): string => text.replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
const holds = (value: unknown, text: string): boolean => typeof value === 'string' && value.includes(stored(text))
const dataOf = (json: Record<string, unknown> | null): Array<Record<string, unknown>> =>
  (json?.['data'] as Array<Record<string, unknown>> | undefined) ?? []

describe.each(LISTS.map((list, turn) => ({ ...list, turn })))('$name', ({ name, texts, others, turn }) => {
  it('answers whatever text it is asked for', { timeout: TIMEOUT_MS }, async () => {
    // The cursor apart: a bad one ends the matter before anything is looked for.
    const filters = texts.filter((field) => field !== 'cursor' && field !== 'period')
    await each(stringsOf(turn), async (text) => {
      for (const some of fitting(filters, text)) await ask(name, Object.fromEntries(some.map((field) => [field, text])))
      for (const field of texts.filter((one) => !filters.includes(one))) await ask(name, { [field]: text })
    })
  })

  it('answers whatever number and time it is asked for', { timeout: TIMEOUT_MS }, async () => {
    const asked = others.flatMap((field) => [...ODD_NUMBERS, ...ODD_TIMES].map((text) => ({ [field]: text })))
    const some = asked.filter((_, at) => (at + turn) % EVERY_NUMBER === 0)
    await each(some, async (query) => {
      await ask(name, query)
    })
  })
})

describe.each([
  ['adminListLogs', 'model', (row) => row['model']],
  ['adminListLogs', 'user_agent', (row) => row['user_agent']],
  ['adminListLogs', 'request_id', (row) => `${String(row['id'])}\n${String(row['client_request_id'])}`],
  ['adminListEnterprises', 'search', (row) => String(row['name']).toLowerCase()],
] as const satisfies ReadonlyArray<
  readonly [OperationName, string, (row: Readonly<Record<string, unknown>>) => unknown]
>)('%s by %s', (name, field, valueOf) => {
  it('finds what holds the text, and nothing else', { timeout: TIMEOUT_MS }, async () => {
    await each(stringsOf(field.length), async (text) => {
      const wanted = field === 'search' ? text.toLowerCase() : text
      for (const row of dataOf(await ask(name, { [field]: text }))) {
        expect(holds(valueOf(row), wanted), `${JSON.stringify(text)} found ${JSON.stringify(row)}`).toBe(true)
      }
    })
    for (const text of ALIKE.filter((one) => field === 'search' || isHeader(one))) {
      const found = dataOf(await ask(name, { [field]: text })).map(valueOf)
      const isCaseless = field === 'search' && text.toLowerCase() === 'axb'
      expect([text, found.length]).toEqual([text, isCaseless ? 2 : 1])
    }
  })
})

it('has users who are found by their names alone', { timeout: TIMEOUT_MS }, async () => {
  const { json: me } = await admin.expect('me', 200)
  await each(stringsOf(1), async (text) => {
    const isHis = String(me['name']).toLowerCase().includes(text.toLowerCase()) || String(me['phone']).includes(text)
    const found = dataOf(await ask('adminListUsers', { search: text }))
    if (!isHis) expect([text, found]).toEqual([text, []])
  })
})

it('keeps names as they are', { timeout: TIMEOUT_MS }, async () => {
  const { json } = await admin.expect('createKey', 201, { body: { name: 'first' } })
  const params = { id: String(json['id']) }
  for (const name of stringsOf(2)) {
    const changed = await admin.call('updateKey', { params, body: { name } })
    expect([200, 400], changed.text).toContain(changed.status)
    // The embedded database loses a byte order mark at the beginning.
    if (changed.status === 200)
      expect([stored(name), stored(name).replace(/^\uFEFF/, '')]).toContain(changed.json['name'])
    else {
      const isRefused = !/\S/.test(name) || [...name].length > 100 || stored(name) !== name
      expect(isRefused, JSON.stringify(name)).toBe(true)
    }
  }
})

it('finds nothing under ids that are none', { timeout: TIMEOUT_MS }, async () => {
  // What cannot be said in a path, or means another one.
  const ids = stringsOf(3).filter((text) => !['', '.', '..'].includes(text) && !/\p{Surrogate}/u.test(text))
  await each(ids, async (id) => {
    for (const name of ['getKey', 'adminGetUser', 'adminGetLog', 'adminGetEnterprise', 'getEnterprise'] as const) {
      const { status, text } = await admin.call(name, { params: { id } })
      expect([400, 404], `${name} ${JSON.stringify(id)}: ${text}`).toContain(status)
    }
  })
})
