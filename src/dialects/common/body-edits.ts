import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { MemberSpan, RequestBody } from '../../shared/core/request-body.ts'

/** A client must not choose the upstream host or key. */
export const FORBIDDEN_MEMBERS: ReadonlySet<string> = new Set(['api_base', 'api_key', 'base_url'])

const COMMA = Buffer.from(',')

/** A member that keeps its value under another name. */
export interface Renamed {
  readonly name: string
}

/** The edit of one top-level member: REMOVED, its new value as JSON, another name, or null to keep it. */
export type MemberEdit = string | Buffer | Renamed | null

/** Removes the member. No value equals it, because JSON is never empty. */
export const REMOVED = ''

/** The edits that all dialects make: set the upstream's model, remove `FORBIDDEN_MEMBERS`. */
export function editMember(member: MemberSpan, body: RequestBody, edits: BodyEdits): MemberEdit {
  if (FORBIDDEN_MEMBERS.has(member.name)) return REMOVED
  return member.name === 'model' && body.model !== edits.model ? JSON.stringify(edits.model) : null
}

/** Makes only the edits of `editMember`. Returns the same buffer when nothing changes. */
export function routeBody(body: RequestBody, edits: BodyEdits): Buffer {
  return spliceMembers(body, (member) => editMember(member, body, edits), null)
}

/**
 * Applies `edit` to each member and adds `added` (name and value as JSON) at the object's end. Keeps the bytes of unchanged
 * members and the white space around them. Returns the same buffer when nothing changes.
 */
export function spliceMembers(
  body: RequestBody,
  edit: (member: MemberSpan) => MemberEdit,
  added: string | null,
): Buffer {
  const { bytes, members } = body
  const edits = members.map(edit)
  if (added === null && edits.every((change) => change === null)) return bytes

  const first = members[0]
  const last = members.at(-1)
  const head = first === undefined ? bytes.indexOf('{') + 1 : first.start
  const tail = last === undefined ? head : last.valueEnd
  const pieces: Buffer[] = [bytes.subarray(0, head)]
  let before: MemberSpan | null = null
  let kept = 0
  members.forEach((member, i) => {
    const change = edits[i] ?? null
    if (change !== REMOVED) {
      // The gap before a member holds its comma. The first kept member must not bring one.
      if (before !== null && kept > 0) pieces.push(bytes.subarray(before.valueEnd, member.start))
      kept++
      if (change === null) pieces.push(bytes.subarray(member.start, member.valueEnd))
      else if (typeof change === 'string' || Buffer.isBuffer(change)) {
        pieces.push(
          bytes.subarray(member.start, member.valueStart),
          typeof change === 'string' ? Buffer.from(change) : change,
        )
      } else {
        pieces.push(Buffer.from(`${JSON.stringify(change.name)}:`), bytes.subarray(member.valueStart, member.valueEnd))
      }
    }
    before = member
  })
  if (added !== null) {
    if (kept > 0) pieces.push(COMMA)
    pieces.push(Buffer.from(added))
  }
  pieces.push(bytes.subarray(tail))
  return Buffer.concat(pieces)
}
