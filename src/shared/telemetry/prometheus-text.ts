import { METRIC_FAMILIES } from './metric-families.ts'
import type { CounterFamily, HistogramFamily, MetricDefinition, MetricFamily } from './metric-families.ts'
import type { Metrics, Sample } from './metrics.ts'
import type { Histogram, Labels } from './series.ts'

/** The text exposition format, https://prometheus.io/docs/instrumenting/exposition_formats/. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** All families that have a series, each once, in the order of their table. */
export function renderMetrics(metrics: Metrics, samples: readonly Sample[]): string {
  const samplesOf = new Map<MetricFamily, Sample[]>()
  for (const sample of samples) {
    const [family] = sample
    const known = samplesOf.get(family)
    if (known === undefined) samplesOf.set(family, [sample])
    else known.push(sample)
  }
  const lines: string[] = []
  for (const family of Object.keys(METRIC_FAMILIES) as MetricFamily[]) {
    const definition = METRIC_FAMILIES[family]
    const series = [
      ...ownSeries(metrics, family, definition),
      ...(samplesOf.get(family) ?? []).map(([, labels, value]) => seriesLine(definition, '', labels, value)),
    ]
    if (series.length === 0) continue
    lines.push(
      `# HELP ${definition.name} ${escapedHelp(definition.help)}`,
      `# TYPE ${definition.name} ${definition.type}`,
    )
    lines.push(...series)
  }
  lines.push('')
  return lines.join('\n')
}

function ownSeries(metrics: Metrics, family: MetricFamily, definition: MetricDefinition): string[] {
  switch (definition.type) {
    case 'counter':
      return metrics
        .counter(family as CounterFamily)
        .all.map(({ labels, value }) => seriesLine(definition, '', labels, value))
    case 'histogram':
      return metrics.histogram(family as HistogramFamily).all.flatMap((series) => histogramLines(definition, series))
    case 'gauge':
      return []
  }
}

function histogramLines(definition: MetricDefinition, { labels, counts, sumUs }: Histogram): string[] {
  const lines: string[] = []
  let count = 0
  counts.forEach((inBucket, index) => {
    count += inBucket
    const bound = definition.bounds[index]
    lines.push(seriesLine(definition, '_bucket', labels, count, bound === undefined ? '+Inf' : numberText(bound)))
  })
  lines.push(seriesLine(definition, '_sum', labels, sumUs / 1_000_000), seriesLine(definition, '_count', labels, count))
  return lines
}

function seriesLine(definition: MetricDefinition, suffix: string, labels: Labels, value: number, le?: string): string {
  const pairs = definition.labels.map((name, index) => `${name}="${escapedLabel(labels[index] ?? '')}"`)
  if (le !== undefined) pairs.push(`le="${le}"`)
  const shown = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
  return `${definition.name}${suffix}${shown} ${numberText(value)}`
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  if (value === -Infinity) return '-Inf'
  return Number.isNaN(value) ? 'NaN' : String(value)
}

function escapedLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
