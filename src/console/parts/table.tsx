import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'
import classes from './table.module.css'

const SKELETON_AFTER_MS = 150
const SKELETON_ROWS = 8

export interface Column<Row> {
  readonly id: string
  readonly head: string
  /** Of CSS grid; `minmax(0, 1fr)` by default. */
  readonly width?: string
  readonly isNumber?: boolean
  /** The value of the sort parameter; only what the server sorts. */
  readonly sort?: string
  /** Of the facts of a card on a phone, four at most; `plain`: without its name, and absent where there is nothing. */
  readonly onPhone?: boolean | 'plain'
  readonly cell: (row: Row) => ReactNode
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  /** The address of the row's detail; the first cell is the link. */
  readonly hrefOf: (row: Row) => string
  readonly openId?: string | null
  /** The rows are of the request before. */
  readonly isOld?: boolean
  readonly sort?: { readonly value: string; readonly onSort: (value: string) => void }
  /** At the end of each row. */
  readonly actsOf?: (row: Row) => ReactNode
}

/** A list: the whole row leads to its detail, the first cell is the link that keyboards and new tabs use. */
export function Table<Row>({
  label,
  columns,
  rows,
  idOf,
  hrefOf,
  openId,
  isOld = false,
  sort,
  actsOf,
}: TableProps<Row>): ReactNode {
  const t = useWords('common')
  const template = [...columns.map(({ width }) => width ?? 'minmax(0, 1fr)'), ...(actsOf === undefined ? [] : ['40px'])]
  return (
    <div
      className={classes.table}
      role="table"
      aria-label={label}
      aria-busy={isOld}
      data-old={isOld || undefined}
      style={{ '--columns': template.join(' ') } as React.CSSProperties}
    >
      <div role="rowgroup" className={classes.headGroup}>
        <div className={classes.head} role="row">
          {columns.map((column) => (
            <Head key={column.id} column={column} sort={sort} />
          ))}
          {actsOf !== undefined && (
            <span role="columnheader">
              <span className="hidden">{t('acts')}</span>
            </span>
          )}
        </div>
      </div>
      <div role="rowgroup">
        {rows.map((row) => {
          const id = idOf(row)
          return (
            <div key={id} className={classes.row} role="row" data-open={openId === id || undefined} data-id={id}>
              {columns.map((column, at) => (
                <span
                  key={column.id}
                  role="cell"
                  className={classes.cell}
                  data-number={column.isNumber === true || undefined}
                  data-phone={
                    column.onPhone === undefined || column.onPhone === false ? undefined : String(column.onPhone)
                  }
                  data-label={column.head}
                >
                  {at === 0 ? (
                    <Link href={hrefOf(row)} className={classes.link}>
                      {column.cell(row)}
                    </Link>
                  ) : (
                    column.cell(row)
                  )}
                </span>
              ))}
              {actsOf !== undefined && (
                <span role="cell" className={classes.acts}>
                  {actsOf(row)}
                </span>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Head<Row>({
  column,
  sort,
}: {
  readonly column: Column<Row>
  readonly sort: TableProps<Row>['sort']
}): ReactNode {
  const isSorted = sort !== undefined && column.sort === sort.value
  return (
    <span
      role="columnheader"
      className={classes.cell}
      data-number={column.isNumber === true || undefined}
      aria-sort={isSorted ? (column.sort === 'name' ? 'ascending' : 'descending') : undefined}
    >
      {sort === undefined || column.sort === undefined ? (
        column.head
      ) : (
        <button
          type="button"
          className={classes.sort}
          data-on={isSorted || undefined}
          onClick={() => {
            sort.onSort(column.sort ?? '')
          }}
        >
          {column.head}
          <Icon name={column.sort === 'name' ? 'arrowUp' : 'arrowDown'} size={12} />
        </button>
      )}
    </span>
  )
}

/** Bars of the height of rows, after a moment: a quick answer shows none. */
export function TableSkeleton({ label }: { readonly label: string }): ReactNode {
  const [isShown, setIsShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => {
      setIsShown(true)
    }, SKELETON_AFTER_MS)
    return () => {
      clearTimeout(timer)
    }
  }, [])
  return (
    <div role="status" aria-label={label}>
      {isShown &&
        Array.from({ length: SKELETON_ROWS }, (_, at) => (
          <div key={at} className={classes.skeleton} style={{ opacity: 1 - at / SKELETON_ROWS }}>
            <span className={classes.bar} />
          </div>
        ))}
    </div>
  )
}
