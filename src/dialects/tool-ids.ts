const ALPHANUMERIC = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** What ids of calls may look like at an upstream. */
export interface ToolIdRules {
  readonly maxToolIdLength: number
  /** Exactly so many letters and digits; null: any length, and `_` and `-`. */
  readonly exactToolIdLength: number | null
}

/**
 * The id by which the upstream knows a call: the same for the same id, so that calls and results stay paired without
 * keeping anything. One that fits is not changed.
 */
export function upstreamToolId(id: string, { maxToolIdLength, exactToolIdLength }: ToolIdRules): string {
  if (exactToolIdLength !== null) {
    const fits = id.length === exactToolIdLength && cleaned(id, false) === id
    return fits ? id : hashText(id, exactToolIdLength)
  }
  const clean = cleaned(id, true)
  if (clean === id && id.length <= maxToolIdLength && id !== '') return id
  const hash = hashText(id, 8)
  return clean === '' ? `call_${hash}` : `${clean.slice(0, maxToolIdLength - hash.length - 1)}_${hash}`
}

function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57)
}

/** With `_` for all that is neither letter nor digit, nor `_` and `-` if those may be. */
export function cleaned(text: string, punctuation: boolean): string {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (!isAlphanumeric(code) && !(punctuation && (code === 95 || code === 45))) return replaced(text, punctuation)
  }
  return text
}

function replaced(text: string, punctuation: boolean): string {
  return text.replaceAll(punctuation ? /[^A-Za-z0-9_-]/g : /[^A-Za-z0-9]/g, '_')
}

/** Letters and digits that depend on the text alone: rounds of FNV-1a with different seeds. */
export function hashText(text: string, length: number): string {
  let hash = ''
  for (let seed = 0x811c9dc5; hash.length < length; seed = (seed + 0x9e3779b9) >>> 0) {
    let value = seed
    for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0
    for (let digit = 0; digit < 5 && hash.length < length; digit++) {
      hash += ALPHANUMERIC[value % ALPHANUMERIC.length]
      value = Math.floor(value / ALPHANUMERIC.length)
    }
  }
  return hash
}
