import { useEffect, useState } from 'react'

const WAIT_MS = 250

/** The text of a field of choices as the query of a list: given when the typing has paused, and left out below `least` characters. */
export function useSearchText(typed: string, least: number): { readonly search?: string } {
  const [settled, setSettled] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(typed)
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
    }
  }, [typed])
  const search = settled.trim()
  return search.length < least ? {} : { search }
}
