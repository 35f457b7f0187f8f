/** One line of the text format. */
export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ParsedFamily {
  readonly help: string
  readonly type: string
  readonly samples: readonly ParsedSample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`)
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] }

/**
 * Reads the Prometheus text format 0.0.4 strictly: HELP and TYPE once and before the lines of the family, no line twice, complete
 * histograms. Throws on any violation.
 */
export function parsePrometheusText(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, { help: string; type: string; samples: ParsedSample[] }>()
  const seen = new Set<string>()
  let current: { name: string; help: string; type: string; samples: ParsedSample[] } | null = null
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`${name} comes twice`)
      current = { name, help: rest, type: '', samples: [] }
      families.set(name, current)
    } else if (kind === 'TYPE') {
      if (current?.name !== name || current.type !== '') throw new Error(`TYPE out of place: ${line}`)
      current.type = rest
    } else {
      const sample = parseSample(line)
      const known = current
      const suffixes = SUFFIXES[known?.type ?? ''] ?? ['']
      if (known === null || !suffixes.some((suffix) => sample.name === known.name + suffix)) {
        throw new Error(`a line outside of its family: ${line}`)
      }
      const identity = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (seen.has(identity)) throw new Error(`twice: ${line}`)
      seen.add(identity)
      known.samples.push(sample)
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family)
  return families
}

/** The sum of a family's samples that have all of `labels`; 0 without one. Other labels do not matter. */
export function sumOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Record<string, string> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''))
  return (family?.samples ?? [])
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
}

function parseSample(line: string): ParsedSample {
  const match = SAMPLE.exec(line)
  if (match === null) throw new Error(`not a line of the format: ${line}`)
  const [, name = '', labelText = '', valueText = ''] = match
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < labelText.length) {
    const found = LABEL.exec(labelText)
    if (found === null) throw new Error(`bad labels: ${line}`)
    const [, label = '', value = ''] = found
    if (label in labels) throw new Error(`a label twice: ${line}`)
    labels[label] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
  }
  const value = valueText === '+Inf' ? Infinity : valueText === '-Inf' ? -Infinity : Number(valueText)
  if (Number.isNaN(value) && valueText !== 'NaN') throw new Error(`not a number: ${line}`)
  return { name, labels, value }
}

function checkHistogram(name: string, { samples }: ParsedFamily): void {
  const groups = new Map<string, ParsedSample[]>()
  for (const sample of samples) {
    const { le, ...rest } = sample.labels
    const key = JSON.stringify(Object.entries(rest).sort())
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => (labels['le'] === '+Inf' ? Infinity : Number(labels['le'])))
    const isAscending = (values: readonly number[], strictly: boolean): boolean =>
      values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0) || (!strictly && value === values[i - 1]))
    if (!isAscending(bounds, true) || bounds.at(-1) !== Infinity) throw new Error(`${name}: bounds ${bounds.join(' ')}`)
    const counts = buckets.map(({ value }) => value)
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    if (!isAscending(counts, false) || counts.at(-1) !== count) throw new Error(`${name}: counts ${counts.join(' ')}`)
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name}: no sum`)
  }
}
