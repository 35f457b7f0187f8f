import { useEffect, useEffectEvent } from 'react'

const SEQUENCE_MS = 1_200

interface Hotkeys {
  readonly palette: () => void
  readonly help: () => void
  /** `G`, then the letter. */
  readonly go: (letter: string) => void
}

const OVERLAYS = '[role="dialog"], [role="menu"], [role="listbox"]'

/** Whether something floats over the page. Lists of closed fields exist too, but cannot be seen. */
export function isOverlayOpen(): boolean {
  return [...document.querySelectorAll(OVERLAYS)].some((one) => one.checkVisibility())
}

/** Single letters do nothing while somebody types, or while a dialog is open. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true
  if (isOverlayOpen()) return true
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  )
}

/** The keys that work on every page. */
export function useHotkeys(keys: Hotkeys): void {
  const pressed = useEffectEvent((event: KeyboardEvent, isAfterG: boolean): boolean => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      keys.palette()
      return false
    }
    if (isTyping(event)) return false
    if (event.key === '?') keys.help()
    else if (isAfterG) keys.go(event.key.toLowerCase())
    else return event.key.toLowerCase() === 'g'
    return false
  })
  useEffect(() => {
    let gAt = -Infinity
    const listen = (event: KeyboardEvent): void => {
      const isAfterG = event.timeStamp - gAt < SEQUENCE_MS
      gAt = pressed(event, isAfterG) ? event.timeStamp : -Infinity
    }
    addEventListener('keydown', listen)
    return () => {
      removeEventListener('keydown', listen)
    }
  }, [])
}

/** A key of one page or list. The name is that of `KeyboardEvent.key`. */
export function useKey(names: readonly string[], act: (event: KeyboardEvent) => void): void {
  const pressed = useEffectEvent((event: KeyboardEvent) => {
    if (names.includes(event.key) && !isTyping(event)) act(event)
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      pressed(event)
    }
    addEventListener('keydown', listen)
    return () => {
      removeEventListener('keydown', listen)
    }
  }, [])
}
