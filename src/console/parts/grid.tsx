import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import classes from './layout.module.css'

interface GridColumn<Row> {
  readonly head: string
  readonly isNumber?: boolean
  readonly cell: (row: Row) => ReactNode
}

interface GridProps<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<GridColumn<Row>>
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly actsOf?: (row: Row) => ReactNode
}

/** A small table whose rows lead nowhere. */
export function Grid<Row>({ label, columns, rows, idOf, actsOf }: GridProps<Row>): ReactNode {
  const t = useWords('common')
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={classes.grid}>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" data-number={isNumber === true || undefined}>
                {head}
              </th>
            ))}
            {actsOf !== undefined && (
              <th scope="col">
                <span className="hidden">{t('acts')}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)}>
              {columns.map(({ head, isNumber, cell }) => (
                <td key={head} data-number={isNumber === true || undefined}>
                  {cell(row)}
                </td>
              ))}
              {actsOf !== undefined && <td data-number="">{actsOf(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
