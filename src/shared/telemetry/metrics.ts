import { METRIC_FAMILIES } from './metric-families.ts'
import type { CounterFamily, HistogramFamily, MetricFamily } from './metric-families.ts'
import { Counter, Histogram, SeriesTable } from './series.ts'
import type { Labels } from './series.ts'

/** A present value. */
export type Sample = readonly [family: MetricFamily, labels: Labels, value: number]

/** The counts of a process since its last report, and its present samples. */
export interface MetricReport {
  readonly counters: readonly Sample[]
  /** Counts per bucket, not cumulative. */
  readonly histograms: ReadonlyArray<
    readonly [family: HistogramFamily, labels: Labels, counts: readonly number[], sumUs: number]
  >
  readonly samples: readonly Sample[]
}

const MAX_SERIES = 2_000

/** Counters and histograms of one process. Each event looks a series up once; the rest is addition. */
export class Metrics {
  readonly #counters = new Map<CounterFamily, SeriesTable<Counter>>()
  readonly #histograms = new Map<HistogramFamily, SeriesTable<Histogram>>()

  constructor(maxSeries = MAX_SERIES) {
    for (const family in METRIC_FAMILIES) {
      const { type, labels, bounds } = METRIC_FAMILIES[family as MetricFamily]
      const depth = labels.length
      if (type === 'counter') {
        this.#counters.set(family as CounterFamily, new SeriesTable(depth, maxSeries, (of) => new Counter(of)))
      } else if (type === 'histogram') {
        const boundsUs = bounds.map((seconds) => Math.round(seconds * 1_000_000))
        this.#histograms.set(
          family as HistogramFamily,
          new SeriesTable(depth, maxSeries, (of) => new Histogram(of, boundsUs)),
        )
      }
    }
  }

  counter(family: CounterFamily): SeriesTable<Counter> {
    return tableOf(this.#counters, family)
  }

  histogram(family: HistogramFamily): SeriesTable<Histogram> {
    return tableOf(this.#histograms, family)
  }

  /** Returns the counts since the last call and resets them to zero. The report carries `samples` unchanged. */
  drain(samples: readonly Sample[]): MetricReport {
    const counters: Sample[] = []
    for (const [family, { all }] of this.#counters) {
      for (const counter of all) {
        if (counter.value === 0) continue
        counters.push([family, counter.labels, counter.value])
        counter.value = 0
      }
    }
    const histograms: Array<MetricReport['histograms'][number]> = []
    for (const [family, { all }] of this.#histograms) {
      for (const { labels, counts, sumUs } of all.filter(isTouched)) {
        histograms.push([family, labels, Array.from(counts), sumUs])
      }
      for (const histogram of all) {
        histogram.counts.fill(0)
        histogram.sumUs = 0
      }
    }
    return { counters, histograms, samples }
  }

  /** Adds the counts of another process. Leaves out families that this version does not know, such as those of a newer front. */
  absorb({ counters, histograms }: MetricReport): void {
    for (const [family, labels, value] of counters) {
      this.#counters
        .get(family as CounterFamily)
        ?.at(...fourOf(labels))
        .add(value)
    }
    for (const [family, labels, counts, sumUs] of histograms) {
      const histogram = this.#histograms.get(family)?.at(...fourOf(labels))
      if (histogram === undefined || histogram.counts.length !== counts.length) continue
      histogram.sumUs += sumUs
      for (let i = 0; i < counts.length; i++) histogram.counts[i] = (histogram.counts[i] ?? 0) + (counts[i] ?? 0)
    }
  }
}

function tableOf<F, S>(tables: ReadonlyMap<F, SeriesTable<S>>, family: F): SeriesTable<S> {
  const table = tables.get(family)
  if (table === undefined) throw new Error(`no table for ${String(family)}`)
  return table
}

function isTouched({ counts }: Histogram): boolean {
  return counts.some((count) => count > 0)
}

function fourOf([a, b, c, d]: Labels): [
  string | undefined,
  string | undefined,
  string | undefined,
  string | undefined,
] {
  return [a, b, c, d]
}
