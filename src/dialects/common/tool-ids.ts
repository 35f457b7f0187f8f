const ALPHANUMERIC = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** The form of call ids that an upstream accepts. */
export interface ToolIdRules {
  readonly maxToolIdLength: number
  /** Exact number of letters and digits; null: any length, and `_` and `-` are allowed. */
  readonly exactToolIdLength: number | null
}

/**
 * The upstream's id of a call. The same id gives the same result, so calls and results stay paired without stored state. An
 * id that fits stays unchanged.
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

/** Replaces with `_` all that is neither letter nor digit; keeps `_` and `-` when `punctuation` is true. */
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

/** Letters and digits that depend only on the text: rounds of FNV-1a with different seeds. */
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
