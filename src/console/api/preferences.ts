/** The choices of a user that the browser remembers. Storage may be forbidden or full: then nothing is remembered. */
export type Preference = 'theme' | 'language' | 'zone' | 'scope' | 'columns.requests' | 'first-steps'

export function remembered(name: Preference): string | null {
  try {
    return localStorage.getItem(`sluice.${name}`)
  } catch {
    return null
  }
}

export function remember(name: Preference, value: string): void {
  try {
    localStorage.setItem(`sluice.${name}`, value)
  } catch {
    // The choice holds until the page is closed.
  }
}
