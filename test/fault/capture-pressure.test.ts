import { afterAll, beforeAll, expect, it } from 'vitest'
import { CaptureWorld } from '../support/capture-world.ts'
import type { CapturingTenant } from '../support/capture-world.ts'
import { eventually } from '../support/eventually.ts'

const REQUESTS = 60

let world: CaptureWorld
let tenant: CapturingTenant
let key: string

beforeAll(async () => {
  world = await CaptureWorld.start({ config: { capture: { buffer_bytes: 65_536 } } })
  tenant = await world.newTenant()
  key = await world.newKey(tenant)
}, 120_000)

afterAll(async () => {
  await world.stop()
})

it('answers on while captures find no room, drops them counted, and captures again afterwards', async () => {
  // The front has the key: the control process is not needed for what follows.
  await world.bodiesOf(tenant, await world.chat(key))
  const control = world.gateway.children().find(({ kind }) => kind === 'control')?.pid ?? 0
  process.kill(control, 'SIGSTOP')
  try {
    // At the same time: each may wait for leases.
    const content = `[[sim {"tokens":5}]]${'word '.repeat(1_000)}`
    const asked = await Promise.all(Array.from({ length: REQUESTS }, () => world.chat(key, content)))
    expect(asked.map(({ status }) => status)).toEqual(Array<number>(REQUESTS).fill(200))
  } finally {
    process.kill(control, 'SIGCONT')
  }
  await eventually(
    async () => {
      const dropped = await world.counter('sluice_captures_dropped_total')
      const stored = await world.counter('sluice_captures_stored_total')
      expect(dropped).toBeGreaterThan(0)
      expect(stored + dropped).toBe(REQUESTS + 1)
    },
    { timeoutMs: 40_000 },
  )
  await world.bodiesOf(tenant, await world.chat(key))
  expect(await world.gateway.logRows()).toHaveLength(REQUESTS + 2)
  expect(await world.counter('sluice_capture_buffer_bytes')).toBeLessThanOrEqual(65_536)
}, 120_000)
