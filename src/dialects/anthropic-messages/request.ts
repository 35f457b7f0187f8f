import type { BodyEdits } from '../../core/dialect.ts'
import type { RequestBody } from '../../core/request-body.ts'
import { editMember, spliceMembers } from '../body-edits.ts'

/** Sets the upstream's model name and removes members that name a host or a key. */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  return spliceMembers(body, (member) => editMember(member, body, edits), null)
}
