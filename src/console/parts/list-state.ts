import { pageOf } from './last-page.ts'
import { useUrlState } from './url-state.ts'
import type { UrlState } from './url-state.ts'

/** Stands in the place of an id: the form for a new one. */
const NEW = 'new'

interface ListState {
  readonly url: UrlState
  readonly page: number
  readonly search: string
  /** The id of the open row; null: none, or the form for a new one. */
  readonly openId: string | null
  readonly isNew: boolean
  readonly newHref: string
  readonly hrefOf: (id: string) => string
  readonly onOpen: (id: string) => void
  readonly close: () => void
  readonly onSearch: (text: string) => void
  readonly onPage: (page: number) => void
}

/** The state of a list and its open row, which is in the URL. `base` is the path of the page. */
export function useListState(base: string, open: string | null): ListState {
  const url = useUrlState()
  const openId = open === NEW ? null : open
  const hrefOf = (id: string): string => url.at(`${base}/${encodeURIComponent(id)}`)
  return {
    url,
    page: pageOf(url.query),
    search: url.query.get('search') ?? '',
    openId,
    isNew: open === NEW,
    newHref: hrefOf(NEW),
    hrefOf,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, openId === null ? 'push' : 'replace')
    },
    close: () => {
      url.go(base)
    },
    onSearch: (text) => {
      url.set({ search: text, page: null }, 'replace')
    },
    onPage: (next) => {
      url.set({ page: next === 1 ? null : String(next) })
    },
  }
}
