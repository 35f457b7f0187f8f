import { textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'

const MARK = 'sluice1.'

/** Data that a client keeps in a reasoning item for its issuer. The client cannot read it. */
export type Sealed =
  /** The text of the thinking is in the item's summary. */
  | { readonly kind: 'thinking'; readonly format: string | null; readonly signature: string | null }
  | { readonly kind: 'redacted'; readonly format: string | null; readonly data: string }
  /** The signature of a call that follows. */
  | { readonly kind: 'call'; readonly callId: string; readonly signature: string }

/** Encodes `encrypted_content`. It is opaque but not secret: the upstream gave it to the client to keep. */
export function seal(sealed: Sealed): string {
  return MARK + Buffer.from(JSON.stringify(sealed)).toString('base64url')
}

/** Null when the text was not sealed here. */
export function unseal(text: string): Sealed | null {
  if (!text.startsWith(MARK)) return null
  try {
    const found = asObject(JSON.parse(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8')))
    const format = textOr(found?.['format'], null)
    const signature = textOr(found?.['signature'], null)
    const data = textOr(found?.['data'], null)
    const callId = textOr(found?.['callId'], null)
    switch (found?.['kind']) {
      case 'thinking':
        return { kind: 'thinking', format, signature }
      case 'redacted':
        return data === null ? null : { kind: 'redacted', format, data }
      case 'call':
        return callId === null || signature === null ? null : { kind: 'call', callId, signature }
      default:
        return null
    }
  } catch {
    return null
  }
}
