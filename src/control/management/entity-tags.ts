import { createHash } from 'node:crypto'

const TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const DIGEST_CHARACTERS = 27

/** A strong entity tag (RFC 9110, 8.8.3) of an answer's body. */
export function entityTagOf(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, DIGEST_CHARACTERS)}"`
}

/** Whether a list of tags, as in If-Match, names this one; `*` names all. Weak ones are never the same as it. */
export function namesTag(list: string, tag: string): boolean {
  return (
    list.trim() === '*' || [...list.matchAll(TAG)].some(([, weak, text]) => weak === undefined && `"${text}"` === tag)
  )
}

/** The same, but weak ones count too: as in If-None-Match. */
export function namesTagWeakly(list: string, tag: string): boolean {
  return list.trim() === '*' || [...list.matchAll(TAG)].some(([, , text]) => `"${text}"` === tag)
}
