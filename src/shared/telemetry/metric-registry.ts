import type { CounterFamily } from './metric-families.ts'
import type { Metrics, MetricReport, Sample } from './metrics.ts'
import { renderMetrics } from './prometheus-text.ts'
import type { Labels } from './series.ts'

/** Older samples are left out: they do not describe the present. */
const STALE_MS = 10_000

interface Reporter {
  readonly owner: string
  readonly samples: readonly Sample[]
  readonly atMs: number
}

/** The counts of all processes, and the last samples of those that run. */
export class MetricRegistry {
  readonly #metrics: Metrics
  readonly #reporters = new Map<string, Reporter>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** @param owner the connection of the process: a later connection of the same name replaces it */
  absorb(name: string, owner: string, report: MetricReport, nowMs: number): void {
    this.#metrics.absorb(report)
    this.#reporters.set(name, { owner, samples: report.samples, atMs: nowMs })
  }

  /** Drops the samples of a process that has ended. Its counts stay. */
  forget(owner: string): void {
    for (const [name, reporter] of this.#reporters) if (reporter.owner === owner) this.#reporters.delete(name)
  }

  /** The samples of all processes that run. */
  states(nowMs: number): Sample[] {
    return [...this.#reporters.values()].flatMap(({ atMs, samples }) => (nowMs - atMs <= STALE_MS ? samples : []))
  }

  /** The sums over all processes. */
  counter(family: CounterFamily): ReadonlyArray<{ readonly labels: Labels; readonly value: number }> {
    return this.#metrics.counter(family).all
  }

  /** All metrics in the Prometheus text format. */
  render(own: readonly Sample[], nowMs: number): string {
    return renderMetrics(this.#metrics, [...own, ...this.states(nowMs)])
  }
}
