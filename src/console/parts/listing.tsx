import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { useLastPage } from './last-page.ts'
import type { ListPage } from './last-page.ts'
import { Empty, Failed } from './states.tsx'
import { TableSkeleton } from './table.tsx'

interface ListingProps<Row> {
  /** Of `useRead`. */
  readonly list: {
    readonly data: (ListPage & { readonly data: readonly Row[] }) | undefined
    readonly error: unknown
    readonly isPending: boolean
    readonly refetch: () => Promise<unknown>
  }
  /** The text for an empty list with filters. Null: there is no filter. */
  readonly noMatch: string | null
  readonly onClear: () => void
  /** Shown where there is nothing at all. */
  readonly empty: ReactNode
  readonly children: (rows: readonly Row[]) => ReactNode
}

/** The states of a list: on its way, failed, nothing yet, no match, or its rows. */
export function Listing<Row>({ list, noMatch, onClear, empty, children }: ListingProps<Row>): ReactNode {
  const t = useWords('common')
  const rows = list.data?.data
  const isBeyond = useLastPage(list.data)
  if (rows === undefined || isBeyond) {
    if (list.isPending || isBeyond) return <TableSkeleton label={t('loading')} />
    return (
      <Failed
        cause={list.error}
        retry={() => {
          void list.refetch()
        }}
      />
    )
  }
  if (rows.length > 0) return children(rows)
  if (noMatch === null) return empty
  return (
    <Empty icon="search" title={noMatch}>
      <Button variant="default" onClick={onClear}>
        {t('clearFilters')}
      </Button>
    </Empty>
  )
}
