import { readFileSync } from 'node:fs'

const PROBE_MS = 5

interface Probe {
  readonly atMs: number
  /** How long the other process has ever been ready to run without being let. */
  readonly starvedMs: number
}

/**
 * Knows what a busy machine adds to a measurement: when the event loop of this process was late, and so what it can have
 * seen too late, and for how long another process waited for a processor.
 */
export class LoopLag {
  readonly #pid: number
  readonly #probes: Probe[] = []
  readonly #timer: NodeJS.Timeout

  /** @param pid of the other process */
  constructor(pid: number) {
    this.#pid = pid
    this.#probe()
    this.#timer = setInterval(() => {
      this.#probe()
    }, PROBE_MS)
  }

  /** The larger of the two, in milliseconds; they may have been at the same time. */
  within(from: number, to: number): number {
    let late = 0
    let starved = 0
    this.#probes.forEach((probe, i) => {
      const before = this.#probes[i - 1]
      if (before === undefined || probe.atMs < from || before.atMs > to) return
      const gap = Math.min(to, probe.atMs) - Math.max(from, before.atMs + PROBE_MS)
      late += Math.max(0, gap)
      starved += probe.starvedMs - before.starvedMs
    })
    return Math.max(late, Math.min(starved, to - from))
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#probe()
  }

  #probe(): void {
    this.#probes.push({ atMs: Date.now(), starvedMs: starvedMs(this.#pid) })
  }
}

/** Of the process's main thread; 0 where the kernel does not tell. */
function starvedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
