import { directionOf, shownPair, shownRatio } from '../compare.ts'
import type { Compared, Comparison } from '../compare.ts'
import { escaped } from './markup.ts'
import { page, titleOf, whereOf } from './report.ts'

const MARKS = { better: ['good', '▲ better'], worse: ['bad', '▼ worse'] } as const

/** Two results as one HTML file. */
export function htmlComparison({ base, change, rows, newlyFailed, notRun, differences }: Comparison): string {
  const [colour, verdict] =
    newlyFailed.length > 0
      ? ['bad', `✗ ${newlyFailed.length} newly failed`]
      : notRun.length > 0
        ? ['bad', `✗ ${notRun.length} not run`]
        : ['good', '✓ nothing new fails']
  const problems = [
    ...differences.map((difference) => `Differs: ${difference}`),
    ...notRun.map((name) => `Not run: ${titleOf(name)}, which passed in the first result`),
  ]
  const warning = problems.map((problem) => `<p class="bad">${escaped(problem)}</p>`).join('')
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))]
  const sections = scenarios.map((name) => {
    const lines = rows.filter(({ scenario }) => scenario === name).map(rowOf)
    return `<section><h2>${escaped(titleOf(name))}</h2><div class="scroll"><table class="table"><thead><tr><th scope="col">Figure</th><th scope="col">Base</th><th scope="col">Change</th><th scope="col">Ratio</th><th scope="col"></th></tr></thead><tbody>${lines.join('')}</tbody></table></div></section>`
  })
  return page(
    'Sluice bench: comparison',
    `<header><h1>Sluice bench: comparison<span class="verdict ${colour}">${verdict}</span></h1>
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
