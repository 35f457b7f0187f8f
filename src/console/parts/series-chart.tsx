import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useEffectEvent, useRef } from 'react'
import type { ReactNode } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { dateFormat } from '../format/time.ts'
import type { Colours } from '../theme/colours.ts'
import { useZone } from '../shell/zone.tsx'
import { useLocale } from './values.tsx'
import classes from './series-chart.module.css'

export interface Series {
  readonly name: string
  readonly colour: keyof Colours
  /** One for each time; null: there is none. */
  readonly values: ReadonlyArray<number | null>
}

interface SeriesChartProps {
  /** Beginnings of the stretches, in Unix milliseconds, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** Bars are stacked: the first series lies at the bottom. */
  readonly kind: 'bars' | 'lines'
  /** The ends of the axis, in Unix milliseconds. */
  readonly fromMs: number
  readonly toMs: number
  /** Of each stretch. */
  readonly stepMs: number
  readonly format: (value: number) => string
  /** Of the ticks of its axis, which are `step` apart; default: `format`. */
  readonly formatTick?: ((value: number, step: number) => string) | undefined
  readonly label: string
  readonly height: number
  /** The values under the pointer stand over the chart, and no names: for a small chart that explains itself. */
  readonly isSmall?: boolean
  /** A range was dragged over. */
  readonly onSelect?: (from: Date, to: Date) => void
}

const DAY_MS = 86_400_000
const MAX_BAR_PX = 28
const MIN_SELECT_PX = 4
const AXIS_PX = 56
/** Steps of an axis of sums, which are whole numbers. */
const WHOLE_STEPS = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/** Named series over time, in the zone of the page; the values under the pointer stand in the legend. */
export function SeriesChart(props: SeriesChartProps): ReactNode {
  const { times, series, kind, fromMs, toMs, stepMs, label, height, isSmall = false, onSelect } = props
  const box = useRef<HTMLDivElement>(null)
  const legend = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme()
  const locale = useLocale()
  const { zone } = useZone()
  const canSelect = onSelect !== undefined
  const select = useEffectEvent((from: Date, to: Date) => onSelect?.(from, to))
  const format = useEffectEvent(props.format)
  const formatTick = useEffectEvent(props.formatTick ?? props.format)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const width = (): number => Math.max(200, element.clientWidth)
    const lastMs = Math.max(toMs, (times.at(-1) ?? 0) + stepMs)
    const firstMs = Math.min(fromMs, times[0] ?? fromMs)
    const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    const isLong = lastMs - firstMs > 2 * DAY_MS
    const tick = dateFormat(locale, { timeZone: zone, ...(isLong ? { day: 'numeric', month: 'short' } : clock) })
    const whole = dateFormat(locale, {
      timeZone: zone,
      day: 'numeric',
      month: 'short',
      ...(stepMs < DAY_MS ? clock : { year: 'numeric' }),
    })
    const colourOf = (name: string): string =>
      getComputedStyle(element).getPropertyValue(
        `--c-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      )
    const axis = {
      stroke: colourOf('muted'),
      grid: { stroke: colourOf('line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui, sans-serif',
    }
    const barPx = Math.min(MAX_BAR_PX, (0.8 * (width() - AXIS_PX) * stepMs) / Math.max(1, lastMs - firstMs))
    const bars = uPlot.paths.bars?.({ size: [0.8, barPx, 2], align: 1 })
    const lines = uPlot.paths.linear?.()
    // The topmost sum is drawn first; each smaller one covers its lower part.
    const drawn = kind === 'bars' ? stacked(series).reverse() : series
    const isFlat = drawn.every(({ values }) => values.every((value) => (value ?? 0) === 0))
    const tell = (idx: number | null | undefined): void => {
      if (legend.current === null) return
      const at = typeof idx === 'number' ? times[idx] : undefined
      const parts = typeof idx !== 'number' || at === undefined ? [] : valuesAt(series, idx, format)
      legend.current.textContent = at === undefined ? '' : [whole.format(at), ...parts].join(' · ')
    }
    const plot = new uPlot(
      {
        width: width(),
        height,
        padding: [8, 20, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: canSelect, y: false, setScale: false } },
        scales: {
          x: { time: true, range: () => [firstMs / 1_000, lastMs / 1_000] },
          y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            space: 70,
            size: 22,
            values: (_, at) => at.map((s) => tick.format(s * 1_000)),
          },
          {
            ...axis,
            size: AXIS_PX,
            space: 30,
            ...(kind === 'bars' ? { incrs: WHOLE_STEPS } : {}),
            values: (_, at, _axis, _space, step) =>
              at.map((value) => (isFlat && value > 0 ? '' : formatTick(value, step))),
          },
        ],
        series: [
          {},
          ...drawn.map(({ colour }) =>
            kind === 'bars'
              ? {
                  fill: colourOf(colour),
                  ...(bars === undefined ? {} : { paths: bars }),
                  width: 0,
                  points: { show: false },
                }
              : {
                  stroke: colourOf(colour),
                  ...(lines === undefined ? {} : { paths: lines }),
                  width: 2,
                  spanGaps: true,
                  points: { show: times.length < 40, size: 5, fill: colourOf(colour) },
                },
          ),
        ],
        hooks: {
          setCursor: [({ cursor: { idx } }) => tell(idx)],
          setSelect: [
            (shown) => {
              const { left, width: px } = shown.select
              if (px < MIN_SELECT_PX) return
              const [from, to] = [left, left + px].map((at) => new Date(shown.posToVal(at, 'x') * 1_000))
              if (from !== undefined && to !== undefined) select(from, to)
            },
          ],
        },
      },
      [times.map((ms) => ms / 1_000), ...drawn.map(({ values }) => [...values])],
      element,
    )
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: width(), height })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, kind, fromMs, toMs, stepMs, height, scheme, locale, zone, canSelect])
  return (
    <figure className={classes.figure} data-small={isSmall || undefined}>
      <div className={classes.chart}>
        <div ref={box} role="img" aria-label={label} style={{ height }} />
      </div>
      <figcaption className={classes.legend}>
        {series.length > 1 &&
          !isSmall &&
          series.map(({ name, colour }) => (
            <span key={name} className={classes.name}>
              <span className={classes.mark} data-kind={kind} style={{ background: `var(${variableOf(colour)})` }} />
              {name}
            </span>
          ))}
        <span ref={legend} className={classes.values} aria-hidden="true" />
      </figcaption>
    </figure>
  )
}

function variableOf(colour: string): string {
  return `--c-${colour.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function stacked(series: readonly Series[]): Series[] {
  const sums: number[] = []
  return series.map(({ values, ...one }) => ({
    ...one,
    values: values.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))),
  }))
}

function valuesAt(series: readonly Series[], at: number, format: (value: number) => string): string[] {
  return series.flatMap(({ name, values }) => {
    const value = values[at]
    return value === null || value === undefined ? [] : [`${name} ${format(value)}`]
  })
}
