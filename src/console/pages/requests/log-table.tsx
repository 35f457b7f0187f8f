import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useDeferredValue, useEffect, useEffectEvent, useMemo, useRef } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useWords } from '../../words/index.ts'
import { COLUMNS } from './columns.tsx'
import type { ColumnName } from './columns.tsx'
import { PAGE_ROWS } from './log-calls.ts'
import type { LogPages, LogRow } from './log-calls.ts'
import classes from './log-table.module.css'

const ROW_PX = 36
const CARD_PX = 72
const PHONE = '(max-width: 640px)'
/** Rows below the last visible one at which the next page is asked for. */
const AHEAD_ROWS = 40
const OVERSCAN_ROWS = 12

interface LogTableProps {
  readonly pages: LogPages
  /** Rows that are newer than the first page. */
  readonly newer: readonly LogRow[]
  /** Whether the first row is in sight. */
  readonly onTop: (isTop: boolean) => void
  readonly columns: readonly ColumnName[]
  readonly hrefOf: (row: LogRow) => string
  readonly openId: string | null
  readonly isOld: boolean
  readonly hasNext: boolean
  readonly onNext: () => void
  readonly onPrevious: () => void
  /** The content below the last row. */
  readonly end: ReactNode
}

/** Millions of rows, of which only those in sight exist, and at most 2,000 are in memory. */
export function LogTable(props: LogTableProps): ReactNode {
  const { pages, newer, onTop, columns, hrefOf, openId, isOld, hasNext, onNext, onPrevious, end } = props
  const t = useWords('requests')
  const scroller = useRef<HTMLDivElement>(null)
  const rowPx = matchMedia(PHONE).matches ? CARD_PX : ROW_PX
  // Rows before the first kept page exist only as height.
  const firstPage = pages.pageParams[0]?.index ?? 0
  const base = firstPage === 0 ? 0 : firstPage * PAGE_ROWS + newer.length
  const rows = useMemo(() => {
    const kept = pages.pages.flatMap(({ data }) => data)
    return firstPage === 0 ? [...newer, ...kept] : kept
  }, [pages, firstPage, newer])
  const count = base + rows.length
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    // The rows in sight are drawn first.
    overscan: useDeferredValue(OVERSCAN_ROWS, 0),
  })
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  const reach = useEffectEvent(() => {
    if (first < base) onPrevious()
    else if (hasNext && last >= count - AHEAD_ROWS) onNext()
  })
  useEffect(() => {
    reach()
  }, [first, last, count, base])
  const openAt = openId === null ? -1 : rows.findIndex(({ id }) => id === openId)
  const follow = useEffectEvent(() => {
    if (openAt >= 0) virtual.scrollToIndex(base + openAt, { align: 'auto' })
  })
  useEffect(() => {
    follow()
  }, [openAt])
  const template = columns.map((name) => COLUMNS[name].width).join(' ')
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="table"
      aria-label={t('title')}
      aria-rowcount={hasNext ? -1 : count}
      aria-busy={isOld}
      data-old={isOld || undefined}
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        onTop(currentTarget.scrollTop < rowPx)
      }}
      style={{ '--columns': template, '--least': leastWidth(columns) } as React.CSSProperties}
    >
      <div className={classes.head} role="row">
        {columns.map((name) => (
          <span
            key={name}
            role="columnheader"
            className={classes.cell}
            data-number={COLUMNS[name].isNumber || undefined}
          >
            {t(`columns.${name}`)}
          </span>
        ))}
      </div>
      <div className={classes.rows} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index - base]
          if (row === undefined) {
            const style = { transform: `translateY(${start}px)`, height: rowPx }
            return <div key={index} className={classes.missing} style={style} role="presentation" />
          }
          return (
            <Line
              key={row.id}
              row={row}
              href={hrefOf(row)}
              index={index}
              startPx={start}
              heightPx={rowPx}
              columns={columns}
              isOpen={row.id === openId}
            />
          )
        })}
      </div>
      <div className={classes.end}>{end}</div>
    </div>
  )
}

interface LineProps {
  readonly row: LogRow
  readonly href: string
  readonly index: number
  readonly startPx: number
  readonly heightPx: number
  readonly columns: readonly ColumnName[]
  readonly isOpen: boolean
}

/** One row. It is kept while the list scrolls: all rows in sight, made anew, take longer than a frame. */
const Line = memo(function Line({ row, href, index, startPx, heightPx, columns, isOpen }: LineProps): ReactNode {
  return (
    <div
      className={classes.row}
      role="row"
      aria-rowindex={index + 1}
      data-open={isOpen || undefined}
      data-id={row.id}
      style={{ transform: `translateY(${startPx}px)`, height: heightPx }}
    >
      {columns.map((name, column) => (
        <span
          key={name}
          role="cell"
          className={classes.cell}
          data-name={name}
          data-number={COLUMNS[name].isNumber || undefined}
        >
          {column === 0 ? (
            <Link href={href} className={classes.link}>
              {COLUMNS[name].cell(row)}
            </Link>
          ) : (
            COLUMNS[name].cell(row)
          )}
        </span>
      ))}
    </div>
  )
})

const GAP_PX = 12

/** Rows are grids of their own: they agree on their columns only where none grows with its text. */
function leastWidth(columns: readonly ColumnName[]): string {
  const widths = columns.map((name) => Number(/\d+/.exec(COLUMNS[name].width)?.[0] ?? 0))
  return `${widths.reduce((sum, width) => sum + width + GAP_PX, GAP_PX)}px`
}
