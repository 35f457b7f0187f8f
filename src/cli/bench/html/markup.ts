/** Text that is safe in HTML, in elements and in quoted attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A percentage for a style. */
export function percent(share: number): string {
  return `${Math.round(share * 10_000) / 100}%`
}
