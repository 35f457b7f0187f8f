import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { REMOVED, editMember, spliceMembers } from '../common/body-edits.ts'

/** Sets the upstream's model name, and replaces `duration` with `seconds`, which is a text. */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  const { bytes, members } = body
  const duration = members.find(({ name }) => name === 'duration')
  const text = duration === undefined ? 'null' : bytes.toString('latin1', duration.valueStart, duration.valueEnd)
  const isGiven = text === 'null' || members.some(({ name }) => name === 'seconds')
  return spliceMembers(
    body,
    (member) => (member.name === 'duration' || member.name === 'async' ? REMOVED : editMember(member, body, edits)),
    isGiven ? null : `"seconds":"${Number(text)}"`,
  )
}
