import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { Scope } from '../../shell/scope.ts'
import type { LogQuery } from './filter.ts'
import type { LogRow } from './log-calls.ts'
import { useLive } from './use-live.ts'

/** More than this, and the list is read anew. */
const MAX_NEWER = 500
/** Rows that wait are kept up to this: by then, the list is to be read anew. */
const MAX_HELD = 2 * MAX_NEWER
const GAP_EVERY_MS = 2_000

interface Tail {
  readonly isOn: boolean
  readonly isLost: boolean
  readonly toggle: () => void
  readonly newer: readonly LogRow[]
  /** The number of new rows that wait, because the reader has scrolled away from the first row. */
  readonly held: number
  readonly release: () => void
  readonly onTop: (isTop: boolean) => void
  /** Changes when the list starts at its first row again. */
  readonly list: number
}

interface NewRows {
  readonly shown: readonly LogRow[]
  readonly held: readonly LogRow[]
}

const NO_ROWS: NewRows = { shown: [], held: [] }

/** New requests go to the top of the list while its first row is in sight; otherwise they are counted and wait. */
export function useTail(
  scope: Scope,
  query: LogQuery,
  first: readonly LogRow[] | undefined,
  refresh: () => void,
): Tail {
  const [isOn, setIsOn] = useState(false)
  const [isTop, setIsTop] = useState(true)
  const [rows, setRows] = useState(NO_ROWS)
  const [list, setList] = useState(0)
  const [known, setKnown] = useState(first)
  /** The list has to be read anew: at once where the first row is in sight and that was not done just before. */
  const [hasGap, setHasGap] = useState(false)
  const refreshedAt = useRef(-GAP_EVERY_MS)
  const gap = (): void => {
    setHasGap(true)
  }
  const fillGap = useEffectEvent(() => {
    refreshedAt.current = performance.now()
    setHasGap(false)
    refresh()
  })
  useEffect(() => {
    if (!hasGap || !isTop) return undefined
    const timer = setTimeout(fillGap, Math.max(0, refreshedAt.current + GAP_EVERY_MS - performance.now()))
    return () => {
      clearTimeout(timer)
    }
  }, [hasGap, isTop])
  const isLost = useLive({
    scope,
    query,
    isOn,
    onRows: (fresh) => {
      if (rows.shown.length + rows.held.length > MAX_NEWER) gap()
      setRows(({ shown, held }) =>
        isTop
          ? { shown: [...fresh, ...held, ...shown], held: [] }
          : { shown, held: [...fresh, ...held].slice(0, MAX_HELD) },
      )
    },
    onGap: gap,
    onRefused: () => {
      setIsOn(false)
    },
  })
  if (known !== first) {
    // The list was read anew: it has what was new before.
    setKnown(first)
    setRows(NO_ROWS)
  }
  const ids = new Set(first?.map(({ id }) => id))
  return {
    isOn,
    isLost,
    toggle: () => {
      setIsOn(!isOn)
    },
    newer: rows.shown.filter(({ id }) => !ids.has(id)),
    held: rows.held.length,
    release: () => {
      setRows(({ shown, held }) => ({ shown: [...held, ...shown], held: [] }))
      setIsTop(true)
      setList(list + 1)
    },
    onTop: setIsTop,
    list,
  }
}
