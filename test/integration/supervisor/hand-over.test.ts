import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockDataDirectory } from '../../../src/shared/runtime/data-directory.ts'
import { HandOver } from '../../../src/supervisor/hand-over.ts'
import { leavingFronts, sayLeaving, sayState } from '../../../src/supervisor/succession.ts'
import { eventually } from '../../support/eventually.ts'

const PATIENCE_MS = 60_000

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-hand-over-'))
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

it('keeps the control process of the gateway that leaves until that of the next one waits for the database', async () => {
  let asked = 0
  const handOver = new HandOver({
    dataDir,
    announceMs: PATIENCE_MS,
    patienceMs: PATIENCE_MS,
    onControlNeeded: () => (asked += 1),
  })
  const reason = handOver.wait()
  // The next one: it has the lock, and says how far it is.
  const lock = await lockDataDirectory(dataDir)
  sayState(dataDir, 'starting')
  await eventually(() => expect(handOver.isTaken).toBe(true))
  expect(asked).toBe(0)
  sayState(dataDir, 'waiting')
  await eventually(() => expect(asked).toBeGreaterThan(0))
  sayState(dataDir, 'serving')
  expect(await reason).toBe('hand-over')
  handOver.stop()
  await lock.release()
})

it('counts the fronts of a gateway that leaves as they end', () => {
  const leaving = { version: '1', port: 1, socketPath: 'socket' }
  sayLeaving(dataDir, { ...leaving, indices: [0, 1] })
  expect(leavingFronts(dataDir)).toBe(2)
  const takeBack = sayLeaving(dataDir, { ...leaving, indices: [1] })
  expect(leavingFronts(dataDir)).toBe(1)
  takeBack()
  expect(leavingFronts(dataDir)).toBe(0)
})
