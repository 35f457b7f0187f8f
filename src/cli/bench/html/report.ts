import { P99_BOUNDS_MS } from '../result.ts'
import type { BenchResult, ScenarioName, ScenarioResult, Status } from '../result.ts'
import { TABLE } from '../scenarios/table.ts'
import type { LatencySummary } from '../latencies.ts'
import { shownMs, shownNumber, shownPercent, shownTail } from '../shown.ts'
import { bestUnder, shownFigure } from '../text-report.ts'
import { escaped } from './markup.ts'
import { barPlot, linePlot, rangePlot } from './plots.ts'
import type { Axis, Bar } from './plots.ts'
import { linearScale, logScale, TAIL_SCALE, timeScale } from './scale.ts'
import { STYLE } from './style.ts'

/** The whole report as one file: no script, nothing that is loaded. */
export function htmlReport(result: BenchResult): string {
  const [colour, verdict] = verdictOf(result)
  const panels = [latencies, throughput, bounds, tails, cpu, affinity, memory, problems, figures, conditions]
  return page(
    'Sluice bench',
    `<header><h1>Sluice bench<span class="verdict ${colour}">${verdict}</span></h1>
<p class="where">${escaped(whereOf(result))}</p></header>
<ul class="cards">${cards(result).join('')}</ul>
<div class="grid">${panels.map((panel) => panel(result)).join('\n')}</div>`,
  )
}

function verdictOf({ scenarios }: BenchResult): readonly [colour: string, words: string] {
  const count = (wanted: Status): number => scenarios.filter(({ status }) => status === wanted).length
  if (count('failed') > 0) return ['bad', `✗ ${count('failed')} failed`]
  if (count('passed') === 0) return ['bad', '✗ nothing ran']
  const skipped = count('skipped')
  return ['good', skipped === 0 ? '✓ passed' : `✓ ${count('passed')} passed, ${skipped} not run`]
}

/** A page with the style of the report. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main>
${body}
</main></body></html>
`
}

export function whereOf({ target, version, commit, at, seconds, machine }: BenchResult): string {
  const what = target.kind === 'laboratory' ? 'Laboratory on this machine' : `${target.url}, ${target.model}`
  const build = commit === 'unknown' ? version : `${version}, commit ${commit}`
  return `${what} · version ${build} · ${at.replace('T', ' ').slice(0, 16)} UTC, ${shownNumber(seconds)} s · ${machine.cpus} × ${machine.model}, Node ${machine.node.slice(1)}`
}

const titles = new Map(TABLE.map(({ name, title }) => [name, title]))

export function titleOf(name: ScenarioName): string {
  return titles.get(name) ?? name
}

function of(result: BenchResult, name: ScenarioName): ScenarioResult | undefined {
  return result.scenarios.find((one) => one.name === name && one.status !== 'skipped')
}

function panel(title: string, about: string, body: string, isWide = false): string {
  return `<section${isWide ? ' class="wide"' : ''}><h2>${escaped(title)}</h2><p class="about">${escaped(about)}</p>${body}</section>`
}

function cards(result: BenchResult): string[] {
  const buffered = of(result, 'buffered')
  const streamed = of(result, 'streamed')
  const accounting = of(result, 'accounting')
  const first = streamed?.first ?? null
  const late = streamed?.lateness ?? null
  const most = buffered?.perSecond ?? null
  const used = buffered?.cpu ?? null
  const { memory: samples, target } = result
  const all: Array<readonly [string, string] | null> = [
    most === null ? null : [`${shownNumber(most)}/s`, 'buffered requests, most'],
    first === null ? null : [shownTail(first), 'first event of a stream, p99'],
    late === null ? null : [shownTail(late), 'lateness of an event, p99'],
    used === null ? null : [`${shownNumber(used.perRequestUs)} µs`, 'CPU of a buffered request'],
    samples.length === 0
      ? null
      : [`${shownNumber(Math.round(Math.max(...samples.map(({ mb }) => mb))))} MiB`, 'memory, most'],
    accounting === undefined ? null : [shownNumber(accounting.failures), accountingOf(accounting)],
    target.spent === null || !target.paid ? null : [`$${target.spent.toFixed(4)}`, 'spent, about'],
  ]
  return all.flatMap((card) =>
    card === null ? [] : [`<li><b>${escaped(card[0])}</b><span>${escaped(card[1])}</span></li>`],
  )
}

/** Without rows of the log, only answers were compared. */
function accountingOf({ figures }: ScenarioResult): string {
  const hasRows = figures.some(({ label }) => label === 'rows compared')
  return hasRows ? 'differences in the accounting' : 'differences in the answers of the accounting'
}

const TO_MS = (scale: Axis['scale'], title = 'ms'): Axis => ({ scale, shown: shownTick, title })

function shownTick(ms: number): string {
  if (ms >= 1000) return `${Number((ms / 1000).toPrecision(3))} s`
  return `${Number(ms.toPrecision(3))} ms`
}

function latencies(result: BenchResult): string {
  const ranges = result.scenarios.flatMap(({ name, total }) =>
    total === null ? [] : [{ name: titleOf(name), p50: total.p50, p90: total.p90, p99: total.p99, max: total.max }],
  )
  if (ranges.length === 0) return ''
  const scale = logScale(ranges.flatMap(({ p50, max }) => [p50, max]))
  return panel(
    'Time to the end of an answer',
    'All but Buffered send by the clock, and count from when a request was due: what waits in front of a slow gateway counts. Streams include the pace of their upstream.',
    rangePlot('Time to the end of an answer by scenario', ranges, TO_MS(scale)),
    true,
  )
}

function throughput(result: BenchResult): string {
  const steps = of(result, 'buffered')?.steps ?? []
  if (steps.length === 0) return ''
  const points = (share: 'p50' | 'p99'): Array<readonly [number, number]> =>
    steps.map((step) => [step.perSecond, step[share]])
  const notes = (share: 'p50' | 'p99'): string[] =>
    steps.map(
      (step) => `${step.connections} connections: ${shownNumber(step.perSecond)}/s, ${share} ${shownMs(step[share])}`,
    )
  return panel(
    'Throughput and latency',
    `Buffered requests with ${steps.map(({ connections }) => connections).join(', ')} connections.`,
    linePlot({
      about: 'Latency against throughput of buffered requests',
      x: {
        scale: linearScale(Math.max(...steps.map(({ perSecond }) => perSecond))),
        shown: shownNumber,
        title: 'requests per second',
      },
      y: TO_MS(logScale(steps.flatMap(({ p50, p99 }) => [p50, p99])), 'time to the end'),
      series: [
        { name: 'p99', points: points('p99'), notes: notes('p99') },
        { name: 'p50', points: points('p50'), notes: notes('p50') },
      ],
    }),
  )
}

function bounds(result: BenchResult): string {
  const steps = of(result, 'buffered')?.steps ?? []
  if (steps.length === 0) return ''
  const bars = P99_BOUNDS_MS.map((bound): Bar => {
    const best = bestUnder(steps, bound)
    return {
      name: `p99 ≤ ${bound} ms`,
      value: best ?? 0,
      shown: best === null ? 'not reached' : `${shownNumber(best)}/s`,
    }
  })
  return panel(
    'Throughput within a bound',
    'The most buffered requests per second of the steps whose 99th percentile is within the bound.',
    barPlot('Requests per second by bound of the 99th percentile', bars),
  )
}

function tails(result: BenchResult): string {
  const first = (['streamed', 'translated', 'replay'] as const).flatMap((name) => {
    const summary = of(result, name)?.first ?? null
    return summary === null ? [] : [{ name: titleOf(name), points: summary.curve }]
  })
  const late = (['streamed', 'translated', 'replay'] as const).flatMap((name) => {
    const summary = of(result, name)?.lateness ?? null
    return summary === null ? [] : [{ name: titleOf(name), points: summary.curve }]
  })
  const x: Axis = { scale: TAIL_SCALE, shown: (share) => `p${Number((share * 100).toFixed(1))}`, title: 'percentile' }
  const plot = (about: string, series: typeof first): string =>
    linePlot({ about, x, y: TO_MS(logScale(series.flatMap(({ points }) => points.map(([, ms]) => ms))), ''), series })
  return [
    first.length === 0
      ? ''
      : panel(
          'Time to the first event',
          'Of streams, from when their request was due.',
          plot('Time to the first event by percentile', first),
        ),
    late.length === 0
      ? ''
      : panel(
          'Lateness of events',
          'Each event against the pace of its upstream; the bench itself is on the same machine.',
          plot('Lateness of events by percentile', late),
        ),
  ].join('\n')
}

function cpu(result: BenchResult): string {
  const bars = result.scenarios.flatMap(({ name, cpu: used }): Bar[] =>
    used === null
      ? []
      : [
          {
            name: titleOf(name),
            value: used.perRequestUs,
            shown: `${shownNumber(used.perRequestUs)} µs${used.perEventUs === null ? '' : ` (${shownNumber(used.perEventUs)} an event)`}`,
          },
        ],
  )
  if (bars.length === 0) return ''
  return panel(
    'CPU of a request',
    'Of all processes of the gateway until the row is settled. At low rates it includes what an idle gateway uses.',
    barPlot('Microseconds of CPU of a request by scenario', bars),
    // The panel of affinity stands beside it.
    of(result, 'affinity') === undefined,
  )
}

function affinity(result: BenchResult): string {
  const policies = of(result, 'affinity')?.policies ?? []
  if (policies.length === 0) return ''
  const bars = (value: (policy: (typeof policies)[number]) => number, shown: (value: number) => string): Bar[] =>
    policies.map((policy) => ({
      name: policy.name,
      value: value(policy),
      shown: shown(value(policy)),
      isOurs: policy.name === 'sluice',
    }))
  return panel(
    'Prompt affinity',
    'Conversations of a recorded trace on replicas with prompt caches. Higher hit rates and shorter waits are better.',
    `<h3>Blocks found in a cache</h3>${barPlot(
      'Hit rate by policy',
      bars(({ hitRate }) => hitRate, shownPercent),
    )}
<h3>Wait for the first event, p99</h3>${barPlot(
      'Wait by policy',
      bars(({ p99WaitMs }) => p99WaitMs, shownMs),
    )}`,
  )
}

function memory(result: BenchResult): string {
  const { memory: samples, scenarios } = result
  if (samples.length < 2) return ''
  const ran = scenarios.filter(({ status }) => status !== 'skipped')
  const names = ran.map(({ name }, index) => `${index + 1} ${titleOf(name)}`).join(' · ')
  return panel(
    'Memory',
    'Of all processes of the gateway; shared memory counts once.',
    `${linePlot({
      about: 'Memory of the gateway over time',
      x: { scale: timeScale(result.seconds), shown: (at) => `${shownNumber(at)} s`, title: 'time' },
      y: {
        scale: linearScale(Math.max(...samples.map(({ mb }) => mb))),
        shown: (mb) => shownNumber(mb),
        title: 'MiB',
      },
      series: [{ name: 'memory', points: samples.map(({ at, mb }) => [at, mb] as const), area: true }],
      bands: ran.map(({ name, from, seconds }, index) => ({
        from,
        to: from + seconds,
        label: String(index + 1),
        note: titleOf(name),
      })),
    })}<p class="about">${escaped(names)}</p>`,
    true,
  )
}

function problems(result: BenchResult): string {
  const lists = result.scenarios
    .filter((scenario) => scenario.problems.length > 0)
    .map(
      ({ name, status, problems: lines }) =>
        `<h3${status === 'failed' ? ' class="bad"' : ''}>${escaped(titleOf(name))}: ${status}</h3><ul class="problems">${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`,
    )
  return lists.length === 0
    ? ''
    : panel('Failed, skipped, noted', 'The most frequent reasons first.', lists.join(''), true)
}

function figures(result: BenchResult): string {
  const head = [
    'Scenario',
    'Result',
    'Requests',
    'Failed',
    'Per second',
    'p50',
    'p90',
    'p99',
    'First event p99',
    'Lateness p99',
    'Sent late p99',
    'Events',
  ]
  const ms = (value: number | undefined): string => (value === undefined ? '–' : shownMs(value))
  const tail = (summary: LatencySummary | null): string => shownTail(summary) || '–'
  const rows = result.scenarios.map((one) => {
    const cells = [
      titleOf(one.name),
      one.status,
      shownNumber(one.requests),
      shownNumber(one.failures),
      one.perSecond === null ? '–' : shownNumber(one.perSecond),
      ms(one.total?.p50),
      ms(one.total?.p90),
      tail(one.total),
      tail(one.first),
      tail(one.lateness),
      tail(one.sentLate),
      one.events === null ? '–' : shownNumber(one.events),
    ]
    const mark = one.status === 'failed' ? ' class="bad"' : one.status === 'passed' ? ' class="good"' : ' class="muted"'
    return `<tr>${cells.map((cell, index) => `<td${index === 1 ? mark : ''}>${escaped(cell)}</td>`).join('')}</tr>`
  })
  const more = result.scenarios
    .filter((one) => one.figures.length > 0)
    .map(
      (one) =>
        `<dt>${escaped(titleOf(one.name))}</dt><dd>${escaped(one.figures.map((figure) => `${figure.label}: ${shownFigure(figure)}`).join(' · '))}</dd>`,
    )
  return panel(
    'All figures',
    '“Sent late” is how late the bench itself was: where it is long, the machine was too busy for the other times to be trusted.',
    `<div class="scroll"><table class="table"><thead><tr>${head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>${more.length === 0 ? '' : `<dl>${more.join('')}</dl>`}`,
    true,
  )
}

function inText(value: unknown): string {
  if (Array.isArray(value)) return value.map(inText).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value).replace(/[{}"]/g, '').replaceAll(':', ' ')
}

/** `streamsPerSecond` as `streams per second`. */
function inWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function conditions({ machine, elsewhere, options, target }: BenchResult): string {
  const ran = new Map<string, string>([
    ['target', `${target.url}, model ${target.model}`],
    [
      'machine',
      `${machine.cpus} × ${machine.model}, ${shownNumber(machine.memoryMb)} MiB, Node ${machine.node.slice(1)}`,
    ],
    ['other programs', `took ${shownPercent(elsewhere)} of the machine; load average before: ${machine.load}`],
    ...Object.entries(options).map(([name, value]) => [inWords(name), inText(value)] as const),
  ])
  const scenarios = TABLE.map(({ title, about }) => `<dt>${escaped(title)}</dt><dd>${escaped(about)}</dd>`)
  return `${panel('Conditions', 'What was measured, and with which doses.', `<dl>${[...ran].map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>`)}
${panel('Scenarios', 'What each scenario does.', `<dl>${scenarios.join('')}</dl>`)}`
}
