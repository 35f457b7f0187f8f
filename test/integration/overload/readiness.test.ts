import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Health } from '../../../src/front/gateway/health.ts'
import { Overload } from '../../../src/front/overload/overload.ts'
import { Resources } from '../../../src/front/overload/resources.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'

const MIN_FREE = 1_000

/** A front's probes in simulated time, over everything that can make it refuse all AI requests. */
class Front {
  freeBytes = 1_000 * MIN_FREE
  heldBytes = 0
  writable = true
  readonly resources = new Resources({
    maxMemoryBytes: Number.MAX_SAFE_INTEGER,
    processes: 1,
    freeDiskBytes: () => Promise.resolve(this.freeBytes),
    minFreeDiskBytes: MIN_FREE,
    heldBytes: () => this.heldBytes,
    maxHeldBytes: 1_000,
    onFault: (cause) => {
      throw cause
    },
  })
  readonly overload = new Overload({
    loopDelayTargetMs: 100,
    minConcurrency: 10,
    maxInFlight: 20,
    resources: () => ({ ...this.resources.read(), memoryShare: 0.1 }),
    onInterval: () => undefined,
  })
  readonly #health = new Health({
    clock: systemClock,
    scheduler: {
      capacity: () => ({
        keys: 1,
        availableKeys: 1,
        totalConcurrency: 1,
        unusable: { disabled: 0, breaker: 0, cooling: 0 },
      }),
    },
    overload: this.overload,
    isReady: () => true,
    isWritable: () => this.writable,
  })
  readonly #sampling = setInterval(() => {
    this.overload.sample(0)
  }, Overload.SAMPLE_MS)

  probe(path: 'ready' | 'overall'): { status: number | null; body: string } {
    const exchange = new FakeExchange()
    this.#health[path](exchange)
    const { status, body } = exchange.response
    return { status, body: body.toString() }
  }

  close(): void {
    clearInterval(this.#sampling)
    this.resources.stop()
  }
}

let front: Front

beforeEach(() => {
  vi.useFakeTimers()
  front = new Front()
})

afterEach(() => {
  front.close()
  vi.useRealTimers()
})

const NOTHING = (): void => undefined
const CAUSES: ReadonlyArray<
  readonly [name: string, begin: () => void, during: () => void, end: () => void, why: RegExp]
> = [
  [
    'the disk is full',
    () => (front.freeBytes = 0),
    NOTHING,
    () => (front.freeBytes = 1_000 * MIN_FREE),
    /free disk space/,
  ],
  [
    'the journal holds too much back',
    () => (front.heldBytes = 900),
    NOTHING,
    () => (front.heldBytes = 0),
    /unwritten journal records/,
  ],
  [
    'the journal cannot be written',
    () => (front.writable = false),
    NOTHING,
    () => (front.writable = true),
    /journal cannot/,
  ],
  [
    'all places are taken by requests that do not end',
    () => {
      for (let n = 0; n < 20; n++) front.overload.enter(n)
    },
    () => front.overload.enter(0),
    () => {
      for (let n = 0; n < 20; n++) front.overload.leave(1)
    },
    /overload level 1 of 3 \(100 % of limits.max_requests_in_flight/,
  ],
]

it.each(CAUSES)(
  'is not ready within two seconds after %s, and ready within two seconds of its end',
  async (_name, begin, during, end, why) => {
    await vi.advanceTimersByTimeAsync(1_000)
    expect([front.probe('ready').status, front.probe('overall').status]).toEqual([200, 200])
    begin()
    for (let tenth = 0; tenth < 20; tenth++) {
      during()
      await vi.advanceTimersByTimeAsync(100)
    }
    for (let second = 0; second < 3; second++) {
      const [ready, overall] = [front.probe('ready'), front.probe('overall')]
      expect([ready.status, overall.status]).toEqual([503, 503])
      expect(ready.body).toMatch(why)
      expect(overall.body).toMatch(why)
      during()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    end()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(front.probe('ready').status).toBe(200)
  },
)

it('is degraded, yet ready, while some requests are refused beside those that are served', async () => {
  for (let tenth = 0; tenth < 40; tenth++) {
    while (front.overload.enter(0) === null) continue
    front.overload.leave(1_000)
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(front.probe('ready').status).toBe(200)
  const { status, body } = front.probe('overall')
  expect([status, body]).toEqual([200, expect.stringContaining('"status":"degraded"')])
  expect(body).toContain('some AI requests are refused')
})
