import type { BodyEdits } from '../../core/dialect.ts'
import type { MemberSpan, RequestBody } from '../../core/request-body.ts'
import { editMember, spliceMembers } from '../body-edits.ts'
import type { MemberEdit } from '../body-edits.ts'
import { asObject } from '../json-value.ts'

const STREAM_OPTIONS = 'stream_options'

/** Sets the upstream's model name, removes members that name a host or a key, and asks for usage in streams. */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  const missing = edits.stream && !body.members.some((member) => member.name === STREAM_OPTIONS)
  return spliceMembers(
    body,
    (member) =>
      edits.stream && member.name === STREAM_OPTIONS
        ? askForUsage(member, body.bytes)
        : editMember(member, body, edits),
    missing ? `"${STREAM_OPTIONS}":{"include_usage":true}` : null,
  )
}

/** A value that is neither object nor null stays: the upstream will say what it thinks of it. */
function askForUsage(member: MemberSpan, bytes: Buffer): MemberEdit {
  const value: unknown = JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd))
  if (value === null) return '{"include_usage":true}'
  const options = asObject(value)
  if (options === null || options['include_usage'] === true) return null
  return JSON.stringify({ ...options, include_usage: true })
}
