import { useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'

/** Null removes the parameter; a list is a parameter that is repeated. */
export type Patch = Readonly<Record<string, string | readonly string[] | null>>

export interface UrlState {
  readonly query: URLSearchParams
  /** Choices push, typing and defaults replace. */
  readonly set: (patch: Patch, how?: 'push' | 'replace') => void
  /** The same page and query with another path, for links. */
  readonly at: (path: string) => string
  /** Goes to another path with the same query, or a changed one. */
  readonly go: (path: string, how?: 'push' | 'replace', patch?: Patch) => void
}

/** The part of a page's state that a link shares. */
export function useUrlState(): UrlState {
  const search = useSearch()
  const [location, navigate] = useLocation()
  return useMemo(() => {
    const query = new URLSearchParams(search)
    const withQuery = (path: string, next: URLSearchParams): string =>
      next.size === 0 ? path : `${path}?${next.toString()}`
    return {
      query,
      set: (patch, how = 'push') => {
        navigate(withQuery(location, patched(query, patch)), { replace: how === 'replace' })
      },
      at: (path) => withQuery(path, query),
      go: (path, how = 'push', patch = {}) => {
        navigate(withQuery(path, patched(query, patch)), { replace: how === 'replace' })
      },
    }
  }, [search, location, navigate])
}

export function patched(query: URLSearchParams, patch: Patch): URLSearchParams {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(patch)) {
    next.delete(name)
    if (value === null) continue
    for (const one of [value].flat()) if (one !== '') next.append(name, one)
  }
  return next
}

/** The one of `known` that is `value`; the first one where it is none of them. For choices in a URL. */
export function chosen<const Known extends readonly [string, ...string[]]>(
  known: Known,
  value: string | null,
): Known[number] {
  return known.find((one) => one === value) ?? known[0]
}
