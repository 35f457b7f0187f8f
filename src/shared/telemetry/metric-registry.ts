import type { CounterFamily } from './metric-families.ts'
import type { Metrics, MetricReport, Sample } from './metrics.ts'
import { renderMetrics } from './prometheus-text.ts'
import type { Labels } from './series.ts'

/** A process that says nothing for so long says nothing about now. */
const STALE_MS = 10_000

interface Reporter {
  readonly owner: string
  readonly samples: readonly Sample[]
  readonly atMs: number
}

/** What all processes have counted, and the last state of those that live. */
export class MetricRegistry {
  readonly #metrics: Metrics
  readonly #reporters = new Map<string, Reporter>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** @param owner stands for the process's connection: a later one of the same name takes its place */
  absorb(name: string, owner: string, report: MetricReport, nowMs: number): void {
    this.#metrics.absorb(report)
    this.#reporters.set(name, { owner, samples: report.samples, atMs: nowMs })
  }

  /** The process is gone: its state with it, what it counted stays. */
  forget(owner: string): void {
    for (const [name, reporter] of this.#reporters) if (reporter.owner === owner) this.#reporters.delete(name)
  }

  /** The state of all processes that live. */
  states(nowMs: number): Sample[] {
    return [...this.#reporters.values()].flatMap(({ atMs, samples }) => (nowMs - atMs <= STALE_MS ? samples : []))
  }

  /** What all processes together have counted. */
  counter(family: CounterFamily): ReadonlyArray<{ readonly labels: Labels; readonly value: number }> {
    return this.#metrics.counter(family).all
  }

  /** Everything, in the Prometheus text format. */
  render(own: readonly Sample[], nowMs: number): string {
    return renderMetrics(this.#metrics, [...own, ...this.states(nowMs)])
  }
}
