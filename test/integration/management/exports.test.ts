import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openPglite } from '../../../src/control/store/pglite-database.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { DAY_MS, LogPartitions } from '../../../src/control/store/partitions.ts'
import { dose } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { residentBytes } from '../../support/process-memory.ts'
import { createTestDatabase } from '../../support/test-database.ts'

const ROWS = dose('SLUICE_TEST_EXPORT_ROWS', { short: 8_000, long: 20_000 })
const PATIENCE = { timeoutMs: 60_000 }
const TIMEOUT_MS = 300_000

let gateway: TestGateway
let user: ManagementClient
let dataDir: string

/** A log of many rows of one user: written by hand, while nobody else has the database. */
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-exports-'))
  const isEmbedded = inject('database') === 'pglite'
  if (isEmbedded) cpSync(inject('pgliteTemplate'), dataDir, { recursive: true })
  const url = isEmbedded ? null : await createTestDatabase(inject('postgresUrl'))
  const start = (): Promise<TestGateway> => startGateway({ dataDir, ...(url === null ? {} : { database: { url } }) })
  gateway = await start()
  const admin = await ManagementClient.ofAdmin(gateway)
  const account = { phone: '+12025558001', name: 'Ada', password: 'correct horse battery' }
  const { json } = await admin.expect('adminCreateUser', 201, { body: account })
  await gateway.stop()

  const database =
    url === null ? await openPglite(join(dataDir, 'database')) : openPostgres({ url, statementTimeoutMs: 120_000 })
  try {
    const today = Math.floor(Date.now() / DAY_MS)
    await new LogPartitions(database).ensure([today - 1])
    await database.query(FILL, [new Date((today - 1) * DAY_MS), ROWS, String(json['id'])])
  } finally {
    await database.close()
  }
  gateway = await start()
  user = new ManagementClient(gateway.url)
  await user.login(account.phone, account.password)
}, TIMEOUT_MS)

afterAll(async () => {
  await gateway.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const FILL = `INSERT INTO request_log (at, id, node, endpoint, dialect, user_id, model, attempts, status, stream, aborted,
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_micro, settlement, queue_us,
    ttft_us, total_us, overhead_us, user_agent, client_address)
  SELECT $1::timestamptz + n * interval '1 millisecond', 'req_' || lpad(n::text, 12, '0'), 'node', 'chat.completions',
    'openai-chat', $3, 'm', '[]', 200, false, false, 1, 1, 0, 0, 0, 1, 'exact', 1, 1, 1, 1,
    CASE WHEN n = 1 THEN '=1+1,"quoted"' ELSE repeat('agent ', 60) END, '203.0.113.7'
  FROM generate_series(1, $2::int) AS n`

const controlPid = (): number => gateway.children().find(({ kind }) => kind === 'control')?.pid ?? 0

/** Management requests that fronts have under way, without the one that asks. */
async function underWay(): Promise<number> {
  const admin = await ManagementClient.ofAdmin(gateway)
  const { text } = await admin.expect('metrics', 200)
  const counts = [...text.matchAll(/^sluice_management_requests_in_flight\{[^}]*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Asks for an export, and reads nothing. */
async function silentExport(): Promise<Socket> {
  const socket = connect({ port: gateway.port, host: '127.0.0.1' })
  socket.pause()
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.write(
    `GET /api/logs/export?format=ndjson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token ?? ''}\r\nConnection: close\r\n\r\n`,
  )
  return socket
}

async function nextRead(socket: Socket): Promise<Buffer> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('error', reject)
    socket.once('end', () => {
      reject(new Error('the export ended'))
    })
    socket.resume()
  })
  socket.pause()
  return bytes
}

describe('an export of many rows', () => {
  it.each(['csv', 'ndjson'])(
    'has all of them as %s, and takes no memory for it',
    { timeout: TIMEOUT_MS },
    async (format) => {
      const response = await fetch(`${gateway.url}/api/logs/export?format=${format}`, {
        headers: { authorization: `Bearer ${user.token ?? ''}` },
      })
      expect(response.status).toBe(200)
      if (response.body === null) throw new Error('no body')
      const before = residentBytes(controlPid())
      let peak = before
      let bytes = 0
      let lines = 0
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        bytes += chunk.length
        for (const byte of chunk) if (byte === 0x0a) lines += 1
        peak = Math.max(peak, residentBytes(controlPid()))
      }
      expect(lines).toBe(format === 'csv' ? ROWS + 1 : ROWS)
      console.log(`${format}: ${bytes >> 20} MiB, the control process grew by ${(peak - before) >> 20} MiB`)
      expect(peak - before).toBeLessThan(128 << 20)
    },
  )

  it('says nothing that a spreadsheet would compute', { timeout: TIMEOUT_MS }, async () => {
    const to = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS + 2).toISOString()
    const { text } = await user.expect('exportLogs', 200, { query: { to } })
    const [head, row, ...rest] = text.trimEnd().split('\n')
    expect(head).toContain('user_agent')
    expect(row).toContain(`"'=1+1,""quoted"""`)
    expect(rest).toEqual([])
    const bad = await user.call('exportLogs', { query: { format: 'xlsx' } })
    expect(bad).toMatchObject({ status: 400, json: { error: { param: '/format' } } })
  })

  it('waits for a client that stops reading, and ends with one that goes away', { timeout: TIMEOUT_MS }, async () => {
    const before = residentBytes(controlPid())
    const sockets = await Promise.all(Array.from({ length: 4 }, silentExport))
    for (const socket of sockets) expect((await nextRead(socket)).toString()).toMatch(/^HTTP\/1\.1 200 /)
    await eventually(async () => {
      expect(await underWay()).toBeGreaterThanOrEqual(sockets.length)
    }, PATIENCE)
    // Others are served meanwhile, and what nobody reads is not fetched.
    await user.expect('listLogs', 200, { query: { limit: '100' } })
    expect(residentBytes(controlPid()) - before).toBeLessThan(128 << 20)
    for (const socket of sockets) socket.destroy()
    await eventually(async () => {
      expect(await underWay()).toBeLessThanOrEqual(1)
    }, PATIENCE)
    await user.expect('listLogs', 200)
  })
})
