import { useEffect } from 'react'
import { useUrlState } from './url-state.ts'

/** The answer of a list. One that was read by cursor has neither page nor total. */
export interface ListPage {
  readonly data: readonly unknown[]
  readonly page?: number
  readonly limit: number
  readonly total?: number
}

export function pageOf(query: URLSearchParams): number {
  return Math.max(1, Number(query.get('page') ?? '1') || 1)
}

/** The last page, for one that is beyond the end. Null: the page has rows, or is the first. */
export function pageInstead({ data, page = 1, limit, total }: ListPage): number | null {
  if (data.length > 0 || page === 1 || total === undefined) return null
  // The total may be older than the rows: each step goes back.
  return Math.max(1, Math.min(page - 1, Math.ceil(total / limit)))
}

/**
 * Goes to the last page where the one of the URL is beyond the end, as after a deletion or from an old link. Returns whether the rows are still
 * to come.
 */
export function useLastPage(list: ListPage | undefined): boolean {
  const { query, set } = useUrlState()
  const instead = list === undefined ? null : pageInstead(list)
  const isOfUrl = list?.page === pageOf(query)
  useEffect(() => {
    if (instead !== null && isOfUrl) set({ page: instead === 1 ? null : String(instead) }, 'replace')
  }, [instead, isOfUrl, set])
  return instead !== null
}
