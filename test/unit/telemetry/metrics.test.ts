import { Counter, Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { METRIC_FAMILIES } from '../../../src/shared/telemetry/metric-families.ts'
import { MetricRegistry } from '../../../src/shared/telemetry/metric-registry.ts'
import { Metrics } from '../../../src/shared/telemetry/metrics.ts'
import type { MetricReport } from '../../../src/shared/telemetry/metrics.ts'
import { renderMetrics } from '../../../src/shared/telemetry/prometheus-text.ts'
import { FrameDecoder, createFrameEncoder } from '../../../src/shared/wire/link-frames.ts'
import fc from '../../support/fast-check.ts'
import { parsePrometheusText, sumOf } from '../../support/prometheus-text.ts'

const label = fc.string({
  unit: fc.constantFrom('a', 'B', '"', '\\', '\n', ' ', '{', '}', ',', '=', 'é', '🙂'),
  maxLength: 6,
})

it('says the same as prom-client, whatever the label values', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(label, label, fc.integer({ min: 1, max: 100_000_000 })), { minLength: 1, maxLength: 30 }),
      async (events) => {
        const ours = new Metrics()
        const theirs = new Registry()
        const { tokens, attemptDuration } = METRIC_FAMILIES
        const counter = new Counter({ ...tokens, labelNames: tokens.labels, registers: [theirs] })
        const histogram = new Histogram({
          ...attemptDuration,
          labelNames: attemptDuration.labels,
          buckets: [...attemptDuration.bounds],
          registers: [theirs],
        })
        for (const [a, b, us] of events) {
          ours.counter('tokens').at(a, b).add(us)
          ours.histogram('attemptDuration').at(a).observe(us)
          counter.inc({ model: a, kind: b }, us)
          histogram.observe({ provider: a }, us / 1_000_000)
        }
        const mine = sorted(parsePrometheusText(renderMetrics(ours, [])))
        const reference = sorted(parsePrometheusText(await theirs.metrics()))
        expect(mine.map(([line]) => line)).toEqual(reference.map(([line]) => line))
        mine.forEach(([line, value], i) => {
          expect(value, line).toBeCloseTo(reference[i]?.[1] ?? NaN, 6)
        })
      },
    ),
    { numRuns: 200 },
  )
})

it('has one family of each name, with names and labels that Prometheus takes', () => {
  const definitions = Object.values(METRIC_FAMILIES)
  expect(new Set(definitions.map(({ name }) => name)).size).toBe(definitions.length)
  for (const { name, type, labels, bounds } of definitions) {
    expect(name).toMatch(type === 'counter' ? /^sluice_[a-z_]+_total$/ : /^sluice_[a-z_]+(?<!_total)$/)
    for (const one of labels) expect(one).toMatch(/^(?!le$)[a-z]+$/)
    expect(labels.length).toBeLessThanOrEqual(4)
    expect([...bounds].sort((a, b) => a - b)).toEqual(bounds)
  }
})

it('adds up what several processes count between their reports', () => {
  const metrics = new Metrics()
  const registry = new MetricRegistry(metrics)
  const fronts = [new Metrics(), new Metrics()]
  const connections = ['first', 'second']
  for (let round = 1; round <= 3; round++) {
    fronts.forEach((front, i) => {
      front.counter('retries').at().add(round)
      front.histogram('phase').at('auth').observe(round)
      registry.absorb(
        `front-${i}`,
        connections[i] ?? '',
        overTheWire(front.drain([['inFlight', [`front-${i}`], round]])),
        0,
      )
    })
  }
  const families = parsePrometheusText(registry.render([['fronts', [], 2]], 0))
  expect(sumOf(families, 'sluice_retries_total')).toBe(12)
  expect(sumOf(families, 'sluice_phase_duration_seconds_count', { phase: 'auth' })).toBe(6)
  expect(sumOf(families, 'sluice_phase_duration_seconds_sum')).toBeCloseTo(12e-6)
  expect(families.get('sluice_requests_in_flight')?.samples.map(({ value }) => value)).toEqual([3, 3])
  expect(sumOf(families, 'sluice_link_fronts')).toBe(2)
})

it('forgets the state of a process that is gone or silent, and keeps what it counted', () => {
  const registry = new MetricRegistry(new Metrics())
  const front = new Metrics()
  const [old, next] = ['first', 'second']
  const report = (): MetricReport => {
    front.counter('retries').at().add(1)
    return front.drain([['inFlight', ['front-0'], 7]])
  }
  const inFlight = (nowMs: number): number | undefined =>
    parsePrometheusText(registry.render([], nowMs)).get('sluice_requests_in_flight')?.samples.length
  registry.absorb('front-0', old, report(), 0)
  registry.absorb('front-0', next, report(), 0)
  registry.forget(old)
  expect(inFlight(9_000)).toBe(1)
  expect(inFlight(11_000)).toBeUndefined()
  registry.forget(next)
  expect(inFlight(0)).toBeUndefined()
  expect(sumOf(parsePrometheusText(registry.render([], 0)), 'sluice_retries_total')).toBe(2)
})

it('bounds the series of a family: all that come later are one', () => {
  const metrics = new Metrics(3)
  const requests = metrics.counter('requests')
  for (let i = 0; i < 1_000; i++) requests.at('chat.completions', `model-${i}`, '2xx', 'OK').add(1)
  requests.at('chat.completions', 'model-1', '2xx', 'OK').add(1)
  const { samples = [] } = parsePrometheusText(renderMetrics(metrics, [])).get('sluice_requests_total') ?? {}
  expect(samples).toHaveLength(4)
  expect(samples.map(({ labels, value }) => [labels['model'], value])).toEqual([
    ['model-0', 1],
    ['model-1', 2],
    ['model-2', 1],
    ['other', 997],
  ])
})

it('counts a duration in the bucket whose bound it does not exceed', () => {
  const { bounds, counts } = new Metrics().histogram('phase').at('auth')
  const histogram = new Metrics().histogram('phase').at('auth')
  bounds.forEach((bound, i) => {
    histogram.observe(bound)
    expect(histogram.counts[i]).toBe(1)
  })
  histogram.observe(Number.MAX_SAFE_INTEGER)
  histogram.observe(0)
  expect([histogram.counts[0], histogram.counts.at(-1), counts.length]).toEqual([2, 1, bounds.length + 1])
})

it('leaves out what a newer process reports and this one does not know', () => {
  const metrics = new Metrics()
  const report = {
    counters: [['fromTheFuture', ['a'], 1]],
    histograms: [
      ['phase', ['auth'], [1, 2], 3],
      ['fromTheFuture', [], [], 0],
    ],
    samples: [],
  } as unknown as MetricReport
  metrics.absorb(report)
  expect(sumOf(parsePrometheusText(renderMetrics(metrics, [])), 'sluice_phase_duration_seconds_count')).toBe(0)
})

function overTheWire(report: MetricReport): MetricReport {
  let received: unknown
  new FrameDecoder().push(createFrameEncoder()(report), (value) => {
    received = value
  })
  return received as MetricReport
}

function sorted(families: ReturnType<typeof parsePrometheusText>): Array<[string, number]> {
  return [...families]
    .flatMap(([family, { type, help, samples }]) =>
      samples.map(({ name, labels, value }): [string, number] => [
        JSON.stringify([family, type, help, name, Object.entries(labels).sort()]),
        value,
      ]),
    )
    .sort(([a], [b]) => (a < b ? -1 : 1))
}
