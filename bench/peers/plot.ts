import { escaped } from '../../src/cli/bench/html/markup.ts'
import { short, UPSTREAM } from './results.ts'
import type { Measured, Results } from './results.ts'

/** The figures that the plot shows. */
const SHOWN = ['CPU µs per request, 64 connections', 'CPU µs per event, full load']

const WIDTH = 720
const LABEL = 120
const FIGURES = 70
const BAR = 18
const LINE = 26
const TITLE = 34

/** Draws the costs of a request and of an event as bars on a logarithmic axis, least to most as a thin line. */
export function plotOf(results: Results, note: string): string {
  const parts: string[] = []
  let y = 0
  for (const title of SHOWN) {
    const rows = Object.entries(results[title] ?? {}).filter(([program]) => program !== UPSTREAM)
    if (rows.length === 0) continue
    parts.push(`<text class="t" x="0" y="${y + 20}">${escaped(title)} (logarithmic)</text>`)
    y += TITLE
    const from = Math.min(...rows.map(([, { min }]) => min)) / 2
    const to = Math.max(...rows.map(([, { max }]) => max))
    const place = (value: number): number =>
      LABEL + (Math.log(value / from) / Math.log(to / from)) * (WIDTH - LABEL - FIGURES)
    for (const [program, measured] of rows) {
      parts.push(...barOf(program, measured, { y, place }))
      y += LINE
    }
    y += LINE / 2
  }
  parts.push(`<text class="n" x="0" y="${y + 12}">${escaped(note)}</text>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 20}" role="img" aria-label="${escaped(SHOWN.join('; '))}">
<style>text{font:13px sans-serif;fill:#24292f}.t{font-weight:bold}.n{font-size:11px}rect{fill:#8b949e}.s{fill:#1f6feb}path{stroke:#24292f}.b{fill:#fff}</style>
<rect class="b" width="100%" height="100%"/>
${parts.join('\n')}
</svg>
`
}

function barOf(
  program: string,
  { median, min, max }: Measured,
  { y, place }: { readonly y: number; readonly place: (value: number) => number },
): string[] {
  const middle = y + BAR / 2
  const at = (value: number): string => place(value).toFixed(1)
  const kind = program.startsWith('sluice') ? ' class="s"' : ''
  return [
    `<text x="0" y="${middle + 5}">${escaped(program)}</text>`,
    `<rect${kind} x="${LABEL}" y="${y}" width="${(place(median) - LABEL).toFixed(1)}" height="${BAR}"/>`,
    `<path d="M${at(min)} ${middle}H${at(max)}"/>`,
    `<text x="${(place(max) + 6).toFixed(1)}" y="${middle + 5}">${short(median)}</text>`,
  ]
}
