import { escaped, percent } from './markup.ts'
import type { Scale } from './scale.ts'

/*
 * Lines and bands are SVG that is stretched to its box, with strokes that are not. Texts and points are HTML at shares of the box, so
 * that they keep their size on a phone.
 */

export interface Axis {
  readonly scale: Scale
  readonly shown: (value: number) => string
  readonly title: string
}

export interface Series {
  readonly name: string
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
  /** Text of each point for a pointer that rests on it. Absent: the line has no points. */
  readonly notes?: readonly string[]
  readonly area?: true
}

/** A stretch of the x axis with a number. */
export interface Band {
  readonly from: number
  readonly to: number
  readonly label: string
  readonly note: string
}

export interface Plot {
  /** The text describes the plot to screen readers. */
  readonly about: string
  readonly x: Axis
  readonly y: Axis
  readonly series: readonly Series[]
  readonly bands?: readonly Band[]
}

/** Lines over two axes, with a legend when there are several. */
export function linePlot({ about, x, y, series, bands = [] }: Plot): string {
  const at = ([valueX, valueY]: readonly [number, number]): readonly [number, number] => [
    x.scale.place(valueX) * 100,
    100 - y.scale.place(valueY) * 100,
  ]
  const grid = [
    ...y.scale.ticks.map((tick) => lineOf('grid', [0, x100(tick)], [100, x100(tick)])),
    ...x.scale.ticks.map((tick) => lineOf('grid', [x.scale.place(tick) * 100, 0], [x.scale.place(tick) * 100, 100])),
  ]
  function x100(tick: number): number {
    return 100 - y.scale.place(tick) * 100
  }
  const shades = bands
    .filter((_, index) => index % 2 === 0)
    .map(({ from, to }) => {
      const left = x.scale.place(from) * 100
      return `<rect class="band" x="${left.toFixed(2)}" y="0" width="${(x.scale.place(to) * 100 - left).toFixed(2)}" height="100"/>`
    })
  const lines = series.map(({ points, area }, index) => {
    const path = points
      .map(
        (point, place) =>
          `${place === 0 ? 'M' : 'L'}${at(point)
            .map((one) => one.toFixed(2))
            .join(' ')}`,
      )
      .join('')
    const [first, last] = [points[0], points.at(-1)]
    const under =
      area === true && first !== undefined && last !== undefined
        ? `<path class="area s${index}" d="${path}L${at([last[0], 0]).join(' ')}L${at([first[0], 0]).join(' ')}Z"/>`
        : ''
    return `${under}<path class="line s${index}" d="${path}"/>`
  })
  const dots = series.flatMap(({ points, notes }, index) =>
    (notes ?? []).map((note, place) => {
      const [left, top] = at(points[place] ?? [0, 0])
      return `<i class="dot s${index}" style="left:${left.toFixed(2)}%;top:${top.toFixed(2)}%" title="${escaped(note)}"></i>`
    }),
  )
  const labels = [
    ...y.scale.ticks.map(
      (tick) => `<span class="y" style="bottom:${percent(y.scale.place(tick))}">${escaped(y.shown(tick))}</span>`,
    ),
    ...x.scale.ticks.map(
      (tick) => `<span class="x" style="left:${percent(x.scale.place(tick))}">${escaped(x.shown(tick))}</span>`,
    ),
    ...bands.map(({ from, to, label, note }) => {
      const middle = (x.scale.place(from) + x.scale.place(to)) / 2
      return `<span class="mark" style="left:${percent(middle)}" title="${escaped(note)}">${escaped(label)}</span>`
    }),
  ]
  return `<figure class="plot" role="img" aria-label="${escaped(about)}">
${legend(series.map(({ name }) => name))}
<div class="title-y">${escaped(y.title)}</div>
<div class="box"><svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">${[...shades, ...grid, ...lines].join('')}</svg>${dots.join('')}${labels.join('')}</div>
<div class="title-x">${escaped(x.title)}</div>
</figure>`
}

function lineOf(kind: string, from: readonly [number, number], to: readonly [number, number]): string {
  const [x1, y1, x2, y2] = [...from, ...to].map((one) => one.toFixed(2))
  return `<line class="${kind}" x1="${x1 ?? ''}" y1="${y1 ?? ''}" x2="${x2 ?? ''}" y2="${y2 ?? ''}"/>`
}

function legend(names: readonly string[]): string {
  if (names.length < 2) return ''
  return `<ul class="legend">${names.map((name, index) => `<li><i class="key s${index}"></i>${escaped(name)}</li>`).join('')}</ul>`
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly shown: string
  /** Drawn with emphasis. */
  readonly isOurs?: boolean
}

/** Horizontal bars from 0. */
export function barPlot(about: string, bars: readonly Bar[]): string {
  const largest = Math.max(...bars.map(({ value }) => value), 0)
  const rows = bars.map(({ name, value, shown, isOurs = true }) => {
    const width = largest > 0 ? value / largest : 0
    return `<tr><th scope="row">${escaped(name)}</th><td><i class="bar${isOurs ? '' : ' other'}" style="width:${percent(width)}"></i></td><td class="value">${escaped(shown)}</td></tr>`
  })
  return `<table class="bars" aria-label="${escaped(about)}"><tbody>${rows.join('')}</tbody></table>`
}

/** Milliseconds of one scenario. */
export interface Range {
  readonly name: string
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** Draws a line for each scenario, from the median to the longest value, on one logarithmic axis. */
export function rangePlot(about: string, ranges: readonly Range[], axis: Axis): string {
  const { scale, shown } = axis
  const rows = ranges.map(({ name, p50, p90, p99, max }) => {
    const place = (value: number): string => percent(scale.place(value))
    const note = `${name}: p50 ${shown(p50)}, p90 ${shown(p90)}, p99 ${shown(p99)}, longest ${shown(max)}`
    return `<tr title="${escaped(note)}"><th scope="row">${escaped(name)}</th><td><div class="track">
<i class="span far" style="left:${place(p99)};right:${percent(1 - scale.place(max))}"></i>
<i class="span" style="left:${place(p50)};right:${percent(1 - scale.place(p99))}"></i>
<i class="tick" style="left:${place(p90)}"></i><i class="point p50" style="left:${place(p50)}"></i><i class="point p99" style="left:${place(p99)}"></i>
</div></td><td class="value">${escaped(shown(p50))}<span> / </span>${escaped(shown(p99))}</td></tr>`
  })
  const ticks = scale.ticks.map(
    (tick) => `<span style="left:${percent(scale.place(tick))}">${escaped(shown(tick))}</span>`,
  )
  return `<table class="ranges" aria-label="${escaped(about)}"><thead><tr><td></td><td></td><th scope="col" class="value">p50 / p99</th></tr></thead>
<tbody>${rows.join('')}</tbody><tfoot><tr><td></td><td><div class="ticks">${ticks.join('')}</div></td><td></td></tr></tfoot></table>
<p class="key-line"><i class="point p50"></i> p50 <i class="tick"></i> p90 <i class="point p99"></i> p99 <i class="span far"></i> to the longest</p>`
}
