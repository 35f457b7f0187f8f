const UNSTORABLE = /[\0\p{Surrogate}]/gu
const FIRST_SURROGATE = 0xd800
const LAST_SURROGATE = 0xdfff

/** Replaces NUL and lone surrogates, which Postgres refuses, by U+FFFD. */
export function storableText(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === 0 || (unit >= FIRST_SURROGATE && unit <= LAST_SURROGATE)) return text.replace(UNSTORABLE, '\uFFFD')
  }
  return text
}

/** Returns the LIKE pattern that finds the literal `text` anywhere. */
export function containsPattern(text: string): string {
  return `%${storableText(text).replace(/[\\%_]/g, '\\$&')}%`
}
