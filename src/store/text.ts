const UNSTORABLE = /[\0\p{Surrogate}]/gu

/** Postgres takes neither NUL nor halves of surrogate pairs: both become U+FFFD. */
export function storableText(text: string): string {
  return text.replace(UNSTORABLE, '\uFFFD')
}

/** The pattern of LIKE that finds `text` anywhere, taken literally. */
export function containsPattern(text: string): string {
  return `%${storableText(text).replace(/[\\%_]/g, '\\$&')}%`
}
