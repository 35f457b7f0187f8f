/**
 * The page to go to after the log-in, from `?back=` of the log-in page, below `/console`. Anything that is not a path of the console on
 * this origin leads to the start.
 */
export function wayBack(search: string, origin: string = location.origin): string {
  const asked = new URLSearchParams(search).get('back')
  if (asked === null || !URL.canParse(asked, origin)) return '/'
  const url = new URL(asked, origin)
  if (url.origin !== origin) return '/'
  const inside = /^\/console(\/.*)$/.exec(url.pathname)?.[1]
  return inside === undefined || inside.startsWith('//') || inside === '/login' ? '/' : `${inside}${url.search}`
}

const KEPT = 'sluice.back'

/** Remembers the page while the browser is at an OpenID provider. */
export function keepWay(path: string): void {
  try {
    sessionStorage.setItem(KEPT, path)
  } catch {
    // The log-in then leads to the start.
  }
}

export function keptWay(): string {
  try {
    return sessionStorage.getItem(KEPT) ?? ''
  } catch {
    return ''
  }
}
