import type { BodyTask, PackedBody } from './body-task.ts'
import { Redactor } from './redactor.ts'
import { sealBody } from './sealed-body.ts'

let last: { readonly patterns: readonly string[]; readonly redactor: Redactor } | null = null

/** Redacts, compresses and seals a body. */
export function packBody({ bytes, isCut, patterns, dataKey, maxBytes }: BodyTask): PackedBody {
  const { text, redactions } = redactorFor(patterns).redact(textOf(bytes, isCut), isCut)
  const whole = Buffer.from(text)
  // Marks may be longer than what they replace.
  const kept =
    whole.length <= maxBytes ? whole : Buffer.from(whole.toString('utf8', 0, maxBytes).replace(/\uFFFD{1,3}$/, ''))
  const { digest, sealed } = sealBody(Buffer.from(dataKey), kept)
  // Copies: small buffers share memory, which would go to the other thread as a whole.
  const packed = { digest: new Uint8Array(digest), sealed: new Uint8Array(sealed) }
  return { ...packed, redactions, isCut: isCut || kept.length < whole.length }
}

/** The cut may have gone through a character. */
function textOf(bytes: Uint8Array, isCut: boolean): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return isCut ? text.replace(/\uFFFD{1,3}$/, '') : text
}

/** Most bodies in a row have the same patterns. */
function redactorFor(patterns: readonly string[]): Redactor {
  if (last === null || last.patterns.join('\n') !== patterns.join('\n')) {
    last = { patterns, redactor: new Redactor(patterns) }
  }
  return last.redactor
}
