import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { FrameWriter } from '../../../src/journal/frames.ts'
import { aBegin, anEnd } from '../../contract/journal-records.ts'
import { frameAround } from '../../contract/test-journal.ts'
import { chat } from '../../support/ai-calls.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { copyMadeDatabase } from '../../support/program.ts'

/** Rows are booked at low priority: on a busy machine they take their time. */
const BOOKED = { timeoutMs: 40_000 }
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-journal-'))
const journal = join(dataDir, 'journal')
let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  copyMadeDatabase(dataDir)
  simulator = await startSimulator()
  gateway = await startGateway({
    dataDir,
    // The records that are found are old.
    config: { journal: { durability: 'disk', segment_max_age_ms: 500 }, log: { retention_days: 0 } },
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
  rmSync(dataDir, { recursive: true, force: true })
})

it('takes over what a front left that is gone, and shows the operator what of it could be no row', async () => {
  const frames = new FrameWriter()
  // A process of an earlier start of this machine.
  frames.appendHeader({
    writer: 'front7-gone',
    pid: 1,
    startTicks: '1',
    bootId: 'earlier',
    createdAtMs: 1_750_000_000_000,
  })
  for (const record of [aBegin('ended'), anEnd('ended'), aBegin('cut-off')]) frames.append(record)
  const nothing = Buffer.from('no record')
  // Whole at once: a segment that is found half written would be taken for whole, for nobody writes it any more.
  const made = join(dataDir, 'made.seg')
  writeFileSync(made, Buffer.concat([frames.take(), frameAround(nothing)]))
  renameSync(made, join(journal, 'front7-gone-00000001.seg'))

  await eventually(async () => {
    const settled = (await gateway.logRows()).map(({ id, settlement }) => [id, settlement])
    expect(settled.sort()).toEqual([
      ['cut-off', 'interrupted'],
      ['ended', 'exact'],
    ])
  }, BOOKED)
  const { data } = (await admin('/v1/admin/journal/dead-letters')) as { data: Array<Record<string, unknown>> }
  expect(data).toEqual([
    {
      id: expect.any(String),
      time: expect.any(String),
      node: expect.any(String),
      segment: 'front7-gone-00000001.seg',
      position: expect.any(Number),
      reason: expect.any(String),
      bytes: frameAround(nothing).toString('base64'),
    },
  ])
  expect(await admin('/v1/admin/journal')).toEqual({
    status: 'ok',
    lag_seconds: expect.any(Number),
    unsettled_bytes: expect.any(Number),
    disk_free_bytes: expect.any(Number),
    dead_letters: 1,
  })
  expect(readdirSync(journal).filter((name) => name.startsWith('front7'))).toEqual([])
  const letter = `/v1/admin/journal/dead-letters/${String(data[0]?.['id'])}`
  expect(await status(`${letter}/retry`, 'POST')).toBe(409)
  expect(await admin('/v1/admin/journal')).toMatchObject({ dead_letters: 1 })
  expect([await status(letter, 'DELETE'), await status(letter, 'DELETE')]).toEqual([204, 404])
  expect(await admin('/v1/admin/journal')).toMatchObject({ dead_letters: 0 })
  expect(await status('/v1/admin/journal/dead-letters?cursor=nonsense')).toBe(400)
  expect(await status('/v1/admin/journal/dead-letters?limit=101')).toBe(400)
})

it('answers once the disk has the record, tells how long that takes, and begins new segments as they age', async () => {
  const first = segments()
  for (let i = 0; i < 3; i++) expect((await chat(gateway)).status).toBe(200)
  await eventually(async () => {
    const metrics = await text('/metrics')
    expect(Number(/^sluice_journal_sync_seconds_count (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(3)
    expect(metrics).toMatch(/^sluice_journal_disk_free_bytes [1-9]/m)
    expect(metrics).toMatch(/^sluice_journal_behind 0$/m)
  })
  // Settled whole and closed, the old one goes.
  await eventually(() => expect(segments().filter((name) => first.includes(name))).toEqual([]))
})

function segments(): string[] {
  return readdirSync(journal).filter((name) => name.endsWith('.seg'))
}

async function ask(path: string, method = 'GET'): Promise<Response> {
  return fetch(`${gateway.url}${path}`, { method, headers: { authorization: `Bearer ${await gateway.adminToken()}` } })
}

async function admin(path: string): Promise<unknown> {
  return (await ask(path)).json()
}

async function text(path: string): Promise<string> {
  return (await ask(path)).text()
}

async function status(path: string, method = 'GET'): Promise<number> {
  const response = await ask(path, method)
  await response.arrayBuffer()
  return response.status
}
