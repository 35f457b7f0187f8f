/** The token of a mailed link. It is behind the `#`, so that browsers send it to no server. */
export function mailedToken(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get('token')
}

/** Takes the token out of the address once it is used. */
export function forgetMailedToken(): void {
  history.replaceState(history.state, '', `${location.pathname}${location.search}`)
}
