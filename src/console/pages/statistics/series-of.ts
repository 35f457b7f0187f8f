import type { Series } from '../../parts/series-chart.tsx'
import type { Usage } from '../../parts/usage.ts'
import { isSum, valueOf } from './question.ts'
import type { Metric } from './question.ts'

const COLOURS = ['group1', 'group2', 'group3', 'group4', 'group5', 'group6'] as const

interface Drawn {
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

interface Names {
  readonly all: string
  readonly others: string
  readonly nameOf: (group: string) => string
}

/** The first groups in colours of their own, all others in one; of means, only the first groups. */
export function seriesOf(usage: Usage, metric: Metric, { all, others, nameOf }: Names): Drawn {
  const times = [...new Set(usage.series.map(({ time }) => Date.parse(time)))].sort((a, b) => a - b)
  const placeOf = new Map(times.map((time, at) => [time, at]))
  if (usage.groups.length === 0) {
    return { times, series: [{ name: all, colour: 'accent', values: usage.series.map((one) => valueOf(metric, one)) }] }
  }
  const shown = usage.groups.filter((one) => !one.others).slice(0, COLOURS.length)
  const values = new Map(shown.map(({ group }) => [group ?? '', times.map((): number | null => null)]))
  const rest = times.map((): number | null => null)
  for (const row of usage.series) {
    const at = placeOf.get(Date.parse(row.time)) ?? 0
    const value = valueOf(metric, row)
    const own = row.others ? undefined : values.get(row.group ?? '')
    if (own !== undefined) own[at] = value
    else if (value !== null) rest[at] = (rest[at] ?? 0) + value
  }
  const series = shown.map(({ group }, at): Series => ({
    name: nameOf(group ?? ''),
    colour: COLOURS[at] ?? 'muted',
    values: values.get(group ?? '') ?? [],
  }))
  const hasRest = isSum(metric) && rest.some((value) => value !== null)
  return { times, series: hasRest ? [...series, { name: others, colour: 'muted', values: rest }] : series }
}
