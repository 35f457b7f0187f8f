import { directionOf, isOneMachine, OTHER_MACHINE, shownPair, shownRatio } from '../compare.ts'
import type { Compared, Comparison } from '../compare.ts'
import { escaped } from './markup.ts'
import { page, titleOf, whereOf } from './report.ts'

const MARKS = { better: ['good', '▲ better'], worse: ['bad', '▼ worse'] } as const

/** Two results as one HTML file. */
export function htmlComparison({ base, change, rows, newlyFailed }: Comparison): string {
  const verdict =
    newlyFailed.length === 0 ? ['good', '✓ nothing new fails'] : ['bad', `✗ ${newlyFailed.length} newly failed`]
  const warning = isOneMachine(base, change) ? '' : `<p class="bad">${escaped(OTHER_MACHINE)}</p>`
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))]
  const sections = scenarios.map((name) => {
    const lines = rows.filter(({ scenario }) => scenario === name).map(rowOf)
    return `<section><h2>${escaped(titleOf(name))}</h2><div class="scroll"><table class="table"><thead><tr><th scope="col">Figure</th><th scope="col">Base</th><th scope="col">Change</th><th scope="col">Ratio</th><th scope="col"></th></tr></thead><tbody>${lines.join('')}</tbody></table></div></section>`
  })
  return page(
    'Sluice bench: comparison',
    `<header><h1>Sluice bench: comparison<span class="verdict ${verdict[0] ?? ''}">${verdict[1] ?? ''}</span></h1>
<dl><dt>base</dt><dd>${escaped(whereOf(base))}</dd><dt>change</dt><dd>${escaped(whereOf(change))}</dd></dl>${warning}
<p class="about">Marked are figures that differ by more than 10 %. Single runs differ, too: repeat them before you rely on a mark.</p></header>
<div class="grid">${sections.join('')}</div>`,
  )
}

function rowOf(row: Compared): string {
  const direction = directionOf(row)
  const [colour, mark] = direction === null ? ['', ''] : MARKS[direction]
  const [base, change] = shownPair(row)
  const cells = [row.figure, base, change, shownRatio(row)].map((cell) => `<td>${escaped(cell)}</td>`)
  return `<tr>${cells.join('')}<td class="${colour}">${mark}</td></tr>`
}
