import { describe, expect, it } from 'vitest'
import type { AttemptOutcome, Slot } from '../../../src/shared/core/deployment.ts'
import { WaitingSlot } from '../../../src/front/scheduling/waiting-slot.ts'
import { dose } from '../../support/dose.ts'
import fc from '../../support/fast-check.ts'
import { LentSlots } from '../../support/lent-slots.ts'
import { keysOf, SchedulingWorld, settled, upstreamKey, Waiting } from '../../support/scheduling-world.ts'

const KEY_IDS = ['a', 'b', 'c'] as const
const TENANTS = ['t1', 't2', 't3'] as const
const HISTORIES = dose('SLUICE_TEST_HISTORIES', { short: 80, long: 500 })

const outcome: fc.Arbitrary<AttemptOutcome> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ kind: 'ok' } as const) },
  fc.record({
    kind: fc.constant('rate-limited' as const),
    retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 20 }), { nil: null }),
  }),
  { weight: 3, arbitrary: fc.constantFrom<AttemptOutcome>({ kind: 'failed' }, { kind: 'unreachable' }) },
  fc.constantFrom<AttemptOutcome>({ kind: 'unauthorised' }, { kind: 'refused' }, { kind: 'abandoned' }),
)

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('arrive' as const),
      tenant: fc.constantFrom(...TENANTS),
      maxWaitMs: fc.integer({ min: 0, max: 20_000 }),
      tried: fc.subarray([...KEY_IDS], { maxLength: 2 }),
      affinity: fc.option(fc.constantFrom('x', 'y'), { nil: null }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ act: fc.constant('release' as const), at: fc.nat(), outcome }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 8_000 }) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('cancel' as const), at: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('hold' as const),
      key: fc.constantFrom(...KEY_IDS),
      slots: fc.integer({ min: 0, max: 4 }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Place {
  readonly tenant: string
  readonly deadlineMs: number
  readonly candidates: ReadonlySet<string>
  readonly waiting: Waiting
}

/** Plays a history and looks, after each step, for what must never be. */
class History {
  readonly #supply = new LentSlots()
  readonly #world: SchedulingWorld
  readonly #held: Slot[] = []
  #places: Place[] = []
  /** What a key was last told, as the headers of its answer said. */
  readonly #coolingUntilMs = new Map<string, number>()

  constructor(maxWaiting: number) {
    const keys = KEY_IDS.map((id) => upstreamKey(id))
    this.#world = new SchedulingWorld(keysOf(...keys), { supply: this.#supply, maxWaiting })
    for (const id of KEY_IDS) this.#supply.hold(id, 2)
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      const waitingBefore = this.#places.filter(({ waiting }) => isOpen(waiting))
      this.#do(one)
      await settled()
      this.#check(waitingBefore)
    }
  }

  /** All clients leave, all calls end: nothing is left of them. */
  async end(): Promise<void> {
    for (const { waiting } of this.#places) waiting.place.cancel()
    await settled()
    for (const slot of this.#held.splice(0)) slot.release({ kind: 'abandoned' })
    expect(this.#world.scheduler.stats(this.#world.nowMs).waiting).toBe(0)
    for (const id of KEY_IDS) expect([this.#world.inFlight(id), this.#supply.used(id)]).toEqual([0, 0])
    expect(this.#supply.wanted.size).toBe(0)
  }

  #do(one: Step): void {
    switch (one.act) {
      case 'arrive':
        this.#arrive(one)
        return
      case 'release': {
        const slot = this.#held.splice(one.at % (this.#held.length || 1), 1)[0]
        if (slot === undefined) return
        if (one.outcome.kind === 'rate-limited' && one.outcome.retryAfterSeconds !== null) {
          this.#coolingUntilMs.set(slot.deployment.key.id, this.#world.nowMs + 1000 * one.outcome.retryAfterSeconds)
        }
        slot.release(one.outcome)
        slot.release({ kind: 'ok' })
        return
      }
      case 'pass':
        this.#world.pass(one.ms)
        return
      case 'cancel':
        this.#places[one.at % (this.#places.length || 1)]?.waiting.place.cancel()
        return
      case 'hold':
        this.#supply.hold(one.key, one.slots)
    }
  }

  #arrive({ tenant, maxWaitMs, tried, affinity }: Extract<Step, { act: 'arrive' }>): void {
    const candidates = new Set<string>(KEY_IDS.filter((id) => !tried.includes(id)))
    let got
    try {
      got = this.#world.scheduler.acquire(
        this.#world.request({ tenant, maxWaitMs, affinity, tried: new Set<string>(tried) }),
      )
    } catch (error) {
      expect(error).toMatchObject({ code: 'NO_UPSTREAM_CAPACITY' })
      return
    }
    if (got instanceof WaitingSlot) {
      const deadlineMs = this.#world.nowMs + maxWaitMs
      this.#places.push({ tenant, deadlineMs, candidates, waiting: new Waiting(got) })
    } else this.#granted(got, candidates)
  }

  #granted(slot: Slot, candidates: ReadonlySet<string>): void {
    const { id } = slot.deployment.key
    expect(candidates).toContain(id)
    expect(this.#coolingUntilMs.get(id) ?? 0, 'left alone for as long as it asked').toBeLessThanOrEqual(
      this.#world.nowMs,
    )
    this.#held.push(slot)
  }

  #check(waitingBefore: readonly Place[]): void {
    const served = waitingBefore.filter(({ waiting }) => waiting.slot !== null)
    for (const { waiting, candidates } of served) if (waiting.slot !== null) this.#granted(waiting.slot, candidates)
    this.#places = this.#places.filter(({ waiting }) => isOpen(waiting))
    for (const { deadlineMs } of this.#places) {
      expect(deadlineMs, 'nobody waits past the deadline').toBeGreaterThan(this.#world.nowMs)
    }
    for (const winner of served) {
      const passed = waitingBefore
        .slice(0, waitingBefore.indexOf(winner))
        .filter((other) => other.tenant === winner.tenant && isOpen(other.waiting))
      const key = winner.waiting.slot?.deployment.key.id ?? ''
      for (const { candidates } of passed) expect(candidates, 'in order within a tenant').not.toContain(key)
    }
    this.#checkHope()
    for (const id of KEY_IDS) {
      const mine = this.#held.filter((slot) => slot.deployment.key.id === id).length
      expect(this.#world.inFlight(id)).toBe(mine)
      expect(this.#supply.used(id)).toBe(mine)
      const isWanted = this.#places.some(({ candidates }) => candidates.has(id))
      expect(this.#supply.wanted.has(id), 'wanted while somebody waits for it').toBe(isWanted)
    }
  }

  /** Who waits has a reason to, and one not to give up. */
  #checkHope(): void {
    const { nowMs, scheduler } = this.#world
    const keys = scheduler.stats(nowMs).keys
    for (const { candidates, deadlineMs } of this.#places) {
      const mine = keys.filter(({ keyId }) => candidates.has(keyId))
      const free = mine.filter(({ keyId, state, used, held }) => {
        return state === 'ok' && used < held && this.#supply.free(keyId) > 0
      })
      expect(free, 'nobody waits for what is free').toEqual([])
      const hope = mine.filter(({ state, coolingSeconds }) => {
        return state !== 'disabled' && state !== 'breaker-open' && nowMs + 1000 * coolingSeconds <= deadlineMs
      })
      expect(hope, 'nobody waits in vain').not.toEqual([])
    }
  }
}

function isOpen({ slot, error }: Waiting): boolean {
  return slot === null && error === null
}

describe('over any history', () => {
  it('slots, cool-downs, deadlines and the order within a tenant are kept, and nobody waits for what is free', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 120, size: 'max' }),
        fc.integer({ min: 1, max: 20 }),
        async (steps, maxWaiting) => {
          const history = new History(maxWaiting)
          await history.play(steps)
          await history.end()
        },
      ),
      { numRuns: HISTORIES },
    )
  })
})

/** (Σx)² ÷ (n × Σx²): 1 when all have the same. */
function jain(counts: readonly number[]): number {
  const sum = counts.reduce((total, count) => total + count, 0)
  const squares = counts.reduce((total, count) => total + count * count, 0)
  return (sum * sum) / (counts.length * squares)
}

describe('tenants of equal share', () => {
  it('are served alike, however many requests each has, and one with a single request waits one round at most', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 8 }),
        fc.integer({ min: 1, max: 3 }),
        async (clients, slots) => {
          const world = new SchedulingWorld(keysOf(upstreamKey('k', { maxConcurrency: slots })))
          const tenants = clients.map((_, index) => `tenant-${index}`)
          const counts = new Map(tenants.map((tenant) => [tenant, 0]))
          const running: Array<{ slot: Slot; tenant: string }> = []
          const ask = (tenant: string): void => {
            const got = world.scheduler.acquire(world.request({ tenant, maxWaitMs: 1e9 }))
            if (got instanceof WaitingSlot) void got.slot.then((slot) => running.push({ slot, tenant }))
            else running.push({ slot: got, tenant })
          }
          for (const [index, count] of clients.entries()) {
            for (let client = 0; client < count; client++) ask(`tenant-${index}`)
          }
          // Those with fewer requests than slots cannot take part in every round.
          const contended = clients.every((count) => count > slots)
          let lonelyAfter = 0
          for (let round = 0; round < 100 * tenants.length; round++) {
            if (round === 50) ask('lonely')
            const ended = running.shift()
            if (ended === undefined) break
            ended.slot.release({ kind: 'ok' })
            if (ended.tenant !== 'lonely') ask(ended.tenant)
            await settled()
            const newest = running[running.length - 1]?.tenant ?? ''
            if (newest === 'lonely' && lonelyAfter === 0) lonelyAfter = round - 49
            else if (counts.has(newest)) counts.set(newest, (counts.get(newest) ?? 0) + 1)
          }
          if (contended) expect(jain([...counts.values()])).toBeGreaterThan(0.99)
          expect(lonelyAfter).toBeLessThanOrEqual(tenants.length + 1)
        },
      ),
      { numRuns: 60 },
    )
  })
})
