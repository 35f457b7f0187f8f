import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BeginRecord, EndRecord } from '../../src/shared/core/request-record.ts'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { Journal } from '../../src/journal/journal.ts'
import { createSettler } from '../../src/control/settlement/settler.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { openPglite } from '../../src/control/store/pglite-database.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'

/**
 * Measures the CPU of a request from its journal records to its row, and the rows per second:
 * `settle.ts [requests] [batch]`. Uses the embedded database, or an empty database at DATABASE_URL.
 */
const requests = Number(process.argv[2] ?? 50_000)
const batchRows = process.argv[3] === undefined ? {} : { batchRows: Number(process.argv[3]) }
const CONCURRENT = 64

const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-settle-'))
const url = process.env['DATABASE_URL']
const database =
  url === undefined ? await openPglite(join(directory, 'pglite')) : openPostgres({ url, statementTimeoutMs: 60_000 })
await migrate(database)
const header = { writer: 'bench', pid: process.pid, startTicks: null, bootId: null, createdAtMs: Date.now() }
const settler = createSettler({
  database,
  journalDirectory: join(directory, 'journal'),
  node: 'bench',
  priceOf: () => 0,
  clock: systemClock,
  isWriterAlive: () => true,
  logger: { info: () => undefined, warn: () => undefined, error: console.error },
  ...batchRows,
})
for (const [what, count] of [
  ['warm-up', 5_000],
  ['settled', requests],
] as const) {
  const written = await write(count, what)
  const before = process.cpuUsage()
  const startedMs = performance.now()
  await settler.drain()
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(before)
  console.log(
    `${what}: write ${written.toFixed(1)} µs, settle ${((user + system) / count).toFixed(1)} µs of CPU per request, ${Math.round(count / seconds)} rows/s`,
  )
}
await settler.stop()
await database.close()
rmSync(directory, { recursive: true, force: true })

/** Writes a begin and an end record for each request, `CONCURRENT` requests at a time. Returns µs of CPU per request. */
async function write(count: number, name: string): Promise<number> {
  const journal = new Journal({
    directory: join(directory, 'journal'),
    header: { ...header, writer: name },
    segmentMaxBytes: 64 * 1024 * 1024,
    segmentMaxAgeMs: 600_000,
    durability: 'os',
    reserve: { path: '', bytes: 0 },
    clock: systemClock,
    onFault: console.error,
    onRecovered: () => undefined,
    onSync: () => undefined,
  })
  const before = process.cpuUsage()
  for (let first = 0; first < count; first += CONCURRENT) {
    const ids = Array.from(
      { length: CONCURRENT },
      (_, index) => `req_${name}${(first + index).toString(16).padStart(12, '0')}`,
    )
    for (const id of ids) journal.append(begin(id), () => undefined)
    await new Promise<void>((resolve) => {
      for (const id of ids) journal.append(end(id), () => undefined)
      setImmediate(resolve)
    })
  }
  const { user, system } = process.cpuUsage(before)
  journal.close()
  return (user + system) / count
}

function identity(id: string): Omit<BeginRecord, 'kind'> {
  return {
    id,
    atMs: Date.now(),
    endpoint: 'chat.completions',
    dialect: 'openai-chat',
    keyId: 'key_0f8fad5b-d9cb-469f-a165-70867728950e',
    keyMasked: 'sk-AbCd…wXyZ',
    userId: null,
    enterpriseId: null,
    departmentId: null,
    memberId: null,
    model: 'sim-gpt',
    stream: false,
    userAgent: 'bench/1',
    clientAddress: '127.0.0.1',
    clientRequestId: null,
    traceId: null,
    tags: null,
  }
}

function begin(id: string): BeginRecord {
  return { kind: 'begin', ...identity(id) }
}

function end(id: string): EndRecord {
  return {
    kind: 'end',
    ...identity(id),
    status: 200,
    errorType: null,
    errorCode: null,
    providerId: 'bench',
    upstreamKeyId: 'bench-0',
    servedModel: 'sim-gpt',
    attempts: [
      {
        providerId: 'bench',
        upstreamKeyId: 'bench-0',
        status: 200,
        outcome: 'ok',
        startUs: 210,
        durationUs: 5_400,
        model: 'sim-gpt',
        choice: { how: 'only', score: null, waitUs: 0, others: [] },
        dropped: [],
      },
    ],
    usage: { promptTokens: 110, completionTokens: 40, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
    settlement: 'exact',
    aborted: false,
    queueUs: 0,
    ttftUs: 5_600,
    totalUs: 5_700,
    overheadUs: 300,
    callCostMicro: null,
    argumentBytes: null,
    resultBytes: null,
  }
}
