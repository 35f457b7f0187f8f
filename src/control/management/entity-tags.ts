import { createHash } from 'node:crypto'

const TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g
const DIGEST_CHARACTERS = 27

/** These change with every request that is paid for, or as time goes by, which is no change of the thing that an answer shows. */
const MOVES: ReadonlySet<string> = new Set(['spend', 'firing', 'last_used_at', 'old_key_until'])
const MOVES_CHARACTERS = 10

/**
 * A strong entity tag (RFC 9110, 8.8.3) of an answer's value: a digest of the thing, and behind a dot one of what moves by itself,
 * where there is any.
 */
export function entityTagOf(value: unknown): string {
  const moves: unknown[] = []
  const thing = JSON.stringify(value, (name, member: unknown) => {
    if (!MOVES.has(name)) return member
    moves.push(member)
    return undefined
  })
  const behind = moves.length === 0 ? '' : `.${digest(JSON.stringify(moves), MOVES_CHARACTERS)}`
  return `"${digest(thing, DIGEST_CHARACTERS)}${behind}"`
}

function digest(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, characters)
}

/**
 * Whether a list of tags, as in If-Match, names this thing, whatever has moved since; `*` names all. Weak tags are never the same
 * as it.
 */
export function namesTag(list: string, tag: string): boolean {
  const thing = withoutMoves(tag)
  return (
    list.trim() === '*' ||
    [...list.matchAll(TAG)].some(([, weak, text]) => weak === undefined && withoutMoves(`"${text}"`) === thing)
  )
}

function withoutMoves(tag: string): string {
  return tag.replace(/[.][^"]*/, '')
}

/** Whether a list of tags, as in If-None-Match, names exactly this answer; weak tags count too. */
export function namesTagWeakly(list: string, tag: string): boolean {
  return list.trim() === '*' || [...list.matchAll(TAG)].some(([, , text]) => `"${text}"` === tag)
}
