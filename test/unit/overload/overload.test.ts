import { describe, expect, it } from 'vitest'
import { Overload } from '../../../src/front/overload/overload.ts'
import type { ShedReason } from '../../../src/front/overload/overload.ts'
import type { Signals } from '../../../src/front/overload/pressure.ts'

type Resources = Omit<Signals, 'loopDelayMs' | 'inFlightShare'>

const PLENTY: Resources = { loopBusyShare: 1, memoryShare: 0.1, journalShare: 0, diskFreeShare: 1_000 }

class Bench {
  resources = PLENTY
  readonly changes: string[] = []
  readonly overload: Overload

  constructor(options: { minConcurrency?: number; maxInFlight?: number } = {}) {
    this.overload = new Overload({
      loopDelayTargetMs: 20,
      minConcurrency: 10,
      maxInFlight: 1_000,
      resources: () => this.resources,
      onInterval: ({ level, cause }) => {
        const now = `${level} ${cause}`
        if (now !== (this.changes.at(-1) ?? '0 none')) this.changes.push(now)
      },
      ...options,
    })
  }

  /** Tenths of a second with a loop so late. */
  intervals(count: number, lateMs: number): void {
    // A loop that is late enough ends its interval with fewer samples.
    const samples = lateMs === 0 ? 5 : Math.min(5, Math.ceil(100 / lateMs))
    for (let i = 0; i < count * samples; i++) this.overload.sample(lateMs)
  }

  /** The loop has been late for so long that it matters from now on. */
  lateForLong(lateMs: number): void {
    this.intervals(4, lateMs)
  }

  /** Each in a turn of the event loop of its own. @returns how many were let in, and why the others were not */
  async offer(count: number): Promise<{ admitted: number; reasons: Set<ShedReason> }> {
    const reasons = new Set<ShedReason>()
    let admitted = 0
    for (let i = 0; i < count; i++) {
      const reason = this.overload.enter(0)
      if (reason === null) admitted += 1
      else reasons.add(reason)
    }
    await new Promise((resolve) => setImmediate(resolve))
    return { admitted, reasons }
  }
}

describe('with nothing to press', () => {
  it('lets in as many as may be under way, and again as many as have left', async () => {
    const bench = new Bench({ maxInFlight: 20 })
    expect(await bench.offer(30)).toEqual({ admitted: 20, reasons: new Set(['full']) })
    bench.overload.leave(1_000)
    expect((await bench.offer(5)).admitted).toBe(1)
    expect([bench.overload.inFlight, bench.overload.level]).toEqual([20, 0])
  })

  it('ends waiting in queues shortly before the house is full', async () => {
    const bench = new Bench({ maxInFlight: 20 })
    await bench.offer(18)
    expect(bench.overload.mayQueue).toBe(true)
    bench.intervals(1, 0)
    expect([bench.overload.mayQueue, bench.overload.level]).toEqual([false, 1])
  })
})

describe('with a late event loop', () => {
  it('lets fewer in, the longer it lasts, but never less than the least', async () => {
    const bench = new Bench()
    await bench.offer(100)
    const limits: number[] = []
    bench.lateForLong(30)
    expect([bench.overload.level, bench.overload.limit]).toEqual([1, 1_000])
    for (let i = 0; i < 60; i++) {
      bench.intervals(1, 30)
      limits.push(bench.overload.limit)
      while (bench.overload.inFlight > bench.overload.limit) bench.overload.leave(1_000)
    }
    expect(limits[0]).toBe(90)
    expect([...limits].sort((a, b) => b - a)).toEqual(limits)
    expect(limits.at(-1)).toBe(10)
    expect(await bench.offer(5)).toEqual({ admitted: 0, reasons: new Set(['limit']) })
    expect(bench.overload.level).toBe(2)
  })

  it('lets the least in after one long stall, which says nothing about what is under way', async () => {
    const bench = new Bench()
    bench.intervals(1, 2_000)
    expect(await bench.offer(10)).toMatchObject({ admitted: 10 })
  })

  it('does not count on those that stay: long streams do not drive the limit to the ground', async () => {
    const bench = new Bench()
    await bench.offer(100)
    bench.intervals(50, 30)
    expect(bench.overload.inFlight).toBe(100)
    expect(bench.overload.limit).toBe(50)
  })

  it('is open again within five seconds of its end', async () => {
    const bench = new Bench()
    await bench.offer(500)
    for (let i = 0; i < 50; i++) {
      bench.intervals(1, 40)
      while (bench.overload.inFlight > bench.overload.limit) bench.overload.leave(1_000)
    }
    expect(bench.overload.limit).toBe(10)
    while (bench.overload.inFlight > 0) bench.overload.leave(1_000)
    bench.intervals(50, 0)
    expect([bench.overload.limit, bench.overload.level, bench.overload.retryAfterSeconds]).toEqual([1_000, 0, 1])
    expect(bench.changes).toEqual(['1 loop', '2 loop', '1 loop', '0 none'])
  })

  it('leaves the rest of a long turn to those who were let in before', async () => {
    const bench = new Bench()
    expect((await bench.offer(9)).admitted).toBe(9)
    for (let count = 0; count < 31; count++) expect(bench.overload.enter(0)).toBeNull()
    expect([bench.overload.enter(9_000), bench.overload.enter(11_000)]).toEqual([null, 'turn'])
    await new Promise((resolve) => setImmediate(resolve))
    expect(bench.overload.enter(90_000)).toBeNull()
  })

  it('lets requests wait for an upstream while few are under way, and then no more', async () => {
    const bench = new Bench()
    await bench.offer(9)
    bench.lateForLong(30)
    bench.intervals(1, 30)
    expect([bench.overload.level, bench.overload.mayQueue]).toEqual([2, true])
    await bench.offer(1)
    expect(bench.overload.mayQueue).toBe(false)
  })

  it('lets in 32 in a turn, however slow a young process is', async () => {
    const bench = new Bench()
    expect((await bench.offer(10)).admitted).toBe(10)
    const reasons = Array.from({ length: 33 }, (_, at) => bench.overload.enter(at * 3_000))
    expect(reasons.filter((reason) => reason !== null)).toEqual(['turn'])
  })

  it('lets all in while the loop waits for work in between: other programs make it late', async () => {
    const bench = new Bench()
    bench.resources = { ...PLENTY, loopBusyShare: 0.8 }
    await bench.offer(100)
    bench.intervals(20, 30)
    expect([bench.overload.level, bench.overload.limit]).toEqual([0, 1_000])
    bench.resources = { ...PLENTY, loopBusyShare: 0.95 }
    bench.lateForLong(30)
    bench.intervals(1, 30)
    expect([bench.overload.level, bench.overload.limit]).toEqual([2, 90])
  })

  it('has nothing against a burst, and follows at once while it holds requests back already', async () => {
    const bench = new Bench()
    await bench.offer(100)
    for (let burst = 0; burst < 5; burst++) {
      bench.lateForLong(30)
      bench.intervals(1, 0)
    }
    expect(bench.overload.limit).toBe(1_000)
    bench.lateForLong(30)
    bench.intervals(1, 30)
    expect(bench.overload.limit).toBe(90)
    bench.intervals(1, 0)
    const { limit } = bench.overload
    bench.intervals(1, 30)
    expect(bench.overload.limit).toBeLessThan(limit)
  })

  it('has nothing against a few in a long turn', () => {
    const { overload } = new Bench()
    expect([overload.enter(0), overload.enter(10_000_000)]).toEqual([null, null])
  })
})

describe('with too little memory or disk', () => {
  const cases: Array<[string, Partial<Resources>, number]> = [
    ['memory', { memoryShare: 0.81 }, 1],
    ['memory', { memoryShare: 0.91 }, 2],
    ['memory', { memoryShare: 0.96 }, 3],
    ['journal', { journalShare: 0.06 }, 1],
    ['journal', { journalShare: 0.3 }, 2],
    ['journal', { journalShare: 0.6 }, 3],
    ['disk', { diskFreeShare: 3.9 }, 1],
    ['disk', { diskFreeShare: 1.9 }, 2],
    ['disk', { diskFreeShare: 0.9 }, 3],
  ]
  it.each(cases)('%s %j asks for level %i', (cause, pressing, level) => {
    const bench = new Bench()
    bench.resources = { ...PLENTY, ...pressing }
    bench.intervals(1, 0)
    expect(bench.changes).toEqual([`${level} ${cause}`])
  })

  it('lets a trickle through at the highest level, and everyone when it is over', async () => {
    const bench = new Bench()
    bench.resources = { ...PLENTY, memoryShare: 0.97 }
    bench.intervals(1, 0)
    expect((await bench.offer(50)).admitted).toBe(4)
    bench.resources = PLENTY
    while (bench.overload.inFlight > 0) bench.overload.leave(1_000)
    bench.intervals(40, 0)
    expect(bench.changes).toEqual(['3 memory', '2 memory', '1 memory', '0 none'])
    expect((await bench.offer(50)).admitted).toBe(50)
  })
})

describe('the wait it asks for', () => {
  it('is a second while few are refused', async () => {
    const bench = new Bench({ maxInFlight: 10 })
    for (let second = 0; second < 10; second++) {
      await bench.offer(11)
      for (let i = 0; i < 10; i++) bench.overload.leave(5_000)
      bench.intervals(10, 0)
    }
    expect(bench.overload.retryAfterSeconds).toBe(1)
  })

  it('grows with those who wait, and is never more than half a minute', async () => {
    const bench = new Bench({ maxInFlight: 10 })
    const waits: number[] = []
    for (let second = 0; second < 10; second++) {
      await bench.offer(1_000)
      for (let i = 0; i < 10; i++) bench.overload.leave(5_000)
      bench.intervals(10, 0)
      waits.push(bench.overload.retryAfterSeconds)
    }
    expect(waits.slice(0, 5)).toEqual([2, 4, 8, 16, 30])
    expect(waits.at(-1)).toBe(30)
  })

  it('differs between those who are refused together', () => {
    const { overload } = new Bench()
    const told = Array.from({ length: 100 }, () => overload.nextRetryAfterSeconds())
    expect(told.filter((seconds) => seconds === 1)).toHaveLength(50)
    expect(told.filter((seconds) => seconds === 2)).toHaveLength(50)
  })

  it('is at least as long as requests take', async () => {
    const bench = new Bench({ maxInFlight: 10 })
    for (let second = 0; second < 20; second++) {
      await bench.offer(11)
      for (let i = 0; i < 10; i++) bench.overload.leave(8_000_000)
      bench.intervals(10, 0)
    }
    expect(bench.overload.retryAfterSeconds).toBeGreaterThanOrEqual(7)
  })
})

describe('at rest', () => {
  const atRest = (): Bench => {
    const bench = new Bench()
    bench.intervals(10, 0)
    expect(bench.overload.isAtRest).toBe(true)
    return bench
  }

  it('does not rest while a request is in flight, nor in the second after it', async () => {
    const bench = new Bench()
    await bench.offer(1)
    bench.intervals(50, 0)
    expect(bench.overload.isAtRest).toBe(false)
    bench.overload.leave(1_000)
    bench.intervals(9, 0)
    expect(bench.overload.isAtRest).toBe(false)
    bench.intervals(1, 0)
    expect(bench.overload.isAtRest).toBe(true)
  })

  it('goes on while other programs make the loop late', () => {
    const bench = atRest()
    bench.intervals(20, 30)
    expect([bench.overload.level, bench.overload.limit, bench.overload.isAtRest]).toEqual([0, 1_000, true])
  })

  it('says once that a request ends the rest', async () => {
    const bench = atRest()
    let times = 0
    bench.overload.onBusy(() => (times += 1))
    expect((await bench.offer(3)).admitted).toBe(3)
    expect([times, bench.overload.isAtRest]).toEqual([1, false])
  })

  it('sees at its first sample that a resource runs out, and rests again only when there is enough for a while', () => {
    const bench = atRest()
    bench.resources = { ...PLENTY, diskFreeShare: 0.5 }
    bench.overload.sample(0)
    expect([bench.overload.level, bench.overload.isAtRest]).toEqual([3, false])
    bench.intervals(50, 0)
    expect(bench.overload.isAtRest).toBe(false)
    bench.resources = PLENTY
    bench.intervals(15, 0)
    expect([bench.overload.level, bench.overload.isAtRest]).toEqual([0, false])
    while (bench.overload.limit < 1_000) bench.intervals(1, 0)
    bench.intervals(10, 0)
    expect(bench.overload.isAtRest).toBe(true)
  })
})
