import { beforeEach, expect, it } from 'vitest'
import { KeyHealthBoard } from '../../../src/control/fronts/key-health-board.ts'
import { HealthChecks, MAX_CONCURRENT_CHECKS } from '../../../src/control/fronts/health-checks.ts'
import type { HealthCheckResult } from '../../../src/shared/core/health-check.ts'
import type { KeyHealthEvent } from '../../../src/shared/core/key-health-event.ts'
import type { Snapshot } from '../../../src/shared/core/snapshot.ts'
import { createLogger } from '../../../src/shared/telemetry/logger.ts'
import { provider, SchedulingWorld, settled, snapshotOf, target, upstreamKey } from '../../support/scheduling-world.ts'

const INTERVAL_MS = 10_000
const FAILED: HealthCheckResult = { kind: 'failed', detail: 'status 500' }

const logger = createLogger({ level: 'silent', name: 'test' })

/** Health checks and one front, in simulated time. */
class World {
  result: HealthCheckResult | null = { kind: 'ok' }
  mayCheck = true
  /** Null: each check answers at once with `result`. */
  answer: Promise<HealthCheckResult | null> | null = null
  readonly told: KeyHealthEvent[] = []
  readonly calls: string[] = []
  readonly claims: string[][] = []
  readonly front: SchedulingWorld
  readonly board: KeyHealthBoard
  snapshot: Snapshot
  readonly #checks: HealthChecks

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
    this.front = new SchedulingWorld(snapshot)
    const clock = { now: () => this.front.nowMs, monotonicUs: () => this.front.nowMs * 1000 }
    this.board = new KeyHealthBoard(clock)
    this.#checks = new HealthChecks({
      clock,
      random: () => 0.5,
      check: (_, { id }) => {
        this.calls.push(id)
        return this.answer ?? Promise.resolve(this.result)
      },
      claim: (upstreams) => {
        this.claims.push([...upstreams])
        return Promise.resolve(new Set(this.mayCheck ? upstreams : []))
      },
      events: () => this.board.current(),
      tell: (event) => {
        this.told.push(event)
        this.board.add(event)
        this.front.scheduler.hear(event)
      },
      snapshot: () => this.snapshot,
      logger,
      onFault: (cause) => {
        throw cause
      },
    })
  }

  stop(): void {
    this.#checks.stop()
  }

  /** Lets time pass in steps of a second; what the front has learned comes to the board. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      for (const event of this.front.news.splice(0)) this.board.add(event)
      this.#checks.tick()
      await settled()
      this.front.pass(1_000)
    }
  }
}

const healthCheck = { intervalMs: INTERVAL_MS, timeoutMs: 1_000, path: null }
let world: World
beforeEach(() => {
  world = new World(snapshotOf([provider('p', [upstreamKey('k')], { healthCheck })], [target('p')]))
})

it('checks each key at its interval, and tells nothing while all is well', async () => {
  await world.pass(10 * INTERVAL_MS)
  expect(world.calls).toHaveLength(10)
  expect(world.told).toEqual([])
})

it('checks no disabled key, no upstream without checks, and nothing while another gateway does', async () => {
  const keys = [upstreamKey('off', { enabled: false })]
  world.snapshot = snapshotOf([provider('p', keys, { healthCheck }), provider('q', [upstreamKey('plain')])], [])
  await world.pass(3 * INTERVAL_MS)
  world.snapshot = snapshotOf([provider('p', [upstreamKey('k')], { healthCheck })], [target('p')])
  world.mayCheck = false
  await world.pass(3 * INTERVAL_MS)
  expect(world.calls).toEqual([])
})

it('takes a key out of use after three failed checks, and brings it back with the first good one', async () => {
  world.result = FAILED
  await world.pass(2 * INTERVAL_MS)
  expect([world.told.length, world.front.hasRoom()]).toEqual([0, true])
  await world.pass(8 * INTERVAL_MS)
  expect(world.told.map(({ kind }) => kind)).toEqual(Array.from({ length: 8 }, () => 'breaker-open'))
  expect(world.told[0]?.reason).toBe('health checks fail (status 500)')
  expect(world.front.hasRoom()).toBe(false)
  world.result = { kind: 'ok' }
  await world.pass(INTERVAL_MS)
  expect(world.told.at(-1)).toMatchObject({ kind: 'breaker-closed', checked: true })
  expect(world.front.hasRoom()).toBe(true)
})

it('says that a credential is refused', async () => {
  world.result = { kind: 'refused', detail: 'status 401' }
  await world.pass(3 * INTERVAL_MS)
  expect(world.told).toMatchObject([{ kind: 'disabled' }])
  world.result = { kind: 'ok' }
  await world.pass(INTERVAL_MS)
  expect([world.board.current(), world.front.hasRoom()]).toEqual([[], true])
})

it('learns nothing from a fault of this machine', async () => {
  world.result = null
  await world.pass(10 * INTERVAL_MS)
  expect([world.told, world.front.hasRoom()]).toEqual([[], true])
})

it('learns nothing from checks that end after the stop', async () => {
  world.result = FAILED
  await world.pass(2 * INTERVAL_MS)
  let end: (result: HealthCheckResult) => void = () => undefined
  world.answer = new Promise((resolve) => (end = resolve))
  await world.pass(INTERVAL_MS)
  expect(world.calls).toHaveLength(3)
  world.stop()
  end(FAILED)
  await settled()
  expect(world.told).toEqual([])
})

it('keeps its claim between checks, and asks for nothing when no upstream is checked', async () => {
  await world.pass(INTERVAL_MS)
  expect(world.claims).toEqual(Array.from({ length: INTERVAL_MS / 1000 }, () => ['p']))
  world.snapshot = snapshotOf([provider('q', [upstreamKey('plain')])], [])
  world.claims.length = 0
  await world.pass(INTERVAL_MS)
  expect(world.claims).toEqual([])
})

it('checks the longest due first, so that slow checks keep no key from its turn', async () => {
  const ids = Array.from({ length: 3 * MAX_CONCURRENT_CHECKS }, (_, at) => `k${at}`)
  world.snapshot = snapshotOf(
    [
      provider(
        'p',
        ids.map((id) => upstreamKey(id)),
        { healthCheck },
      ),
    ],
    [target('p')],
  )
  for (let turns = 0; turns < 3; turns++) {
    let end: (result: HealthCheckResult) => void = () => undefined
    world.answer = new Promise((resolve) => (end = resolve))
    await world.pass(2 * INTERVAL_MS)
    end({ kind: 'ok' })
    await settled()
  }
  expect(world.calls).toHaveLength(ids.length)
  expect(new Set(world.calls)).toEqual(new Set(ids))
})

it('counts anew with another credential, and follows another interval', async () => {
  world.result = FAILED
  await world.pass(2 * INTERVAL_MS)
  const keys = [upstreamKey('k', { credential: 'renewed' })]
  world.snapshot = snapshotOf([provider('p', keys, { healthCheck })], [target('p')])
  await world.pass(2 * INTERVAL_MS)
  expect([world.calls.length, world.told]).toEqual([4, []])
  world.result = { kind: 'ok' }
  const seldom = { healthCheck: { ...healthCheck, intervalMs: 86_400_000 } }
  world.snapshot = snapshotOf([provider('p', keys, seldom)], [target('p')])
  await world.pass(INTERVAL_MS)
  world.snapshot = snapshotOf([provider('p', keys, { healthCheck })], [target('p')])
  await world.pass(INTERVAL_MS)
  expect(world.calls).toHaveLength(5)
})

it('brings back a key whose calls failed, and leaves it to the probes of fronts when they fail again', async () => {
  const often = { healthCheck: { ...healthCheck, intervalMs: 4_000 } }
  world.snapshot = snapshotOf([provider('p', [upstreamKey('k')], often)], [target('p')])
  const failCalls = (): void => {
    for (let times = 0; times < 5; times++) world.front.slot().release({ kind: 'failed' })
  }
  failCalls()
  expect(world.front.hasRoom()).toBe(false)
  await world.pass(4_000)
  expect(world.told).toMatchObject([{ kind: 'breaker-closed', checked: true }])
  failCalls()
  await world.pass(4_000)
  expect(world.told).toHaveLength(1)
})

it('lets fronts try a key after five minutes at the latest', async () => {
  const seldom = { healthCheck: { ...healthCheck, intervalMs: 3_600_000 } }
  world.snapshot = snapshotOf([provider('p', [upstreamKey('k')], seldom)], [target('p')])
  world.result = FAILED
  await world.pass(3 * 3_600_000)
  expect(world.told).toHaveLength(1)
  expect((world.told[0]?.untilMs ?? 0) - world.front.nowMs).toBeLessThanOrEqual(300_000)
})
