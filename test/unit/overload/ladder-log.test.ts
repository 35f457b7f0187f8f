import { expect, it } from 'vitest'
import { LadderLog } from '../../../src/front/overload/ladder-log.ts'
import { Overload } from '../../../src/front/overload/overload.ts'

class Bench {
  readonly lines: string[] = []
  nowMs = 0
  diskFreeShare = 1_000
  readonly #log = new LadderLog((severity, message) => {
    this.lines.push(`${this.nowMs} ${severity} ${message}`)
  })
  readonly #overload = new Overload({
    loopDelayTargetMs: 100,
    minConcurrency: 10,
    maxInFlight: 1_000,
    resources: () => ({ loopBusyShare: 1, memoryShare: 0.1, journalShare: 0, diskFreeShare: this.diskFreeShare }),
    onInterval: (pressure, limit) => {
      this.#log.note(pressure, limit, this.nowMs)
    },
  })

  /** A request that does not end: without requests, a late loop is no overload. */
  constructor() {
    this.#overload.enter(0)
  }

  /** One sample every 20 ms, each so much too late. */
  pass(ms: number, lateMs = 0): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs += Overload.SAMPLE_MS + lateMs
      this.#overload.sample(lateMs)
    }
  }
}

it('says nothing of one late turn of the event loop, nor of one now and then', () => {
  const bench = new Bench()
  for (let time = 0; time < 20; time++) {
    bench.pass(20, 900)
    bench.pass(3_000)
  }
  expect(bench.lines).toEqual([])
})

it('says once what an operator should know of a loop that stays late, and that it is over', () => {
  const bench = new Bench()
  bench.pass(8_000, 180)
  bench.pass(20_000)
  expect(bench.lines).toEqual([
    '2200 warn overload level 2 of 3 (event loop 180 ms late): new requests wait at most 250 ms for an upstream, and at ' +
      'most 10 run at a time; if it lasts, give this machine more CPU, start more fronts (server.fronts), or add a machine',
    '12200 info overload level 0 of 3: requests are served as usual again',
  ])
})

it('writes one line in ten seconds at most, however often the level changes', () => {
  const bench = new Bench()
  for (let second = 0; second < 300; second++) {
    bench.diskFreeShare = second % 10 < 5 ? 0.5 : 1_000
    bench.pass(1_000)
  }
  const times = bench.lines.map((line) => Number.parseInt(line, 10))
  expect(times.length).toBeGreaterThan(1)
  for (const [index, time] of times.entries())
    expect(time - (times[index - 1] ?? -10_000)).toBeGreaterThanOrEqual(10_000)
})

it('tells of a full disk at once', () => {
  const bench = new Bench()
  bench.diskFreeShare = 0.5
  bench.pass(100)
  expect(bench.lines).toEqual([
    '100 warn overload level 3 of 3 (free disk space is 50 % of overload.min_free_disk_bytes): only 4 AI requests run at a ' +
      'time, all others get 503; free space on the disk of the data directory',
  ])
})
