import type { Metrics, MetricReport, Sample } from './metrics.ts'
import { renderMetrics } from './prometheus-text.ts'

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

  /** Everything, in the Prometheus text format. */
  render(own: readonly Sample[], nowMs: number): string {
    const samples = [...own]
    for (const reporter of this.#reporters.values()) {
      if (nowMs - reporter.atMs <= STALE_MS) samples.push(...reporter.samples)
    }
    return renderMetrics(this.#metrics, samples)
  }
}
