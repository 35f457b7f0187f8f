import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { MemberSpan, RequestBody } from '../../shared/core/request-body.ts'
import type { MemberEdit } from '../body-edits.ts'
import { editMember, spliceMembers } from '../body-edits.ts'
import { asObject } from '../json-value.ts'

const BRACE = 0x7b

/** Sets the upstream's model name, and makes texts of documents given as `{text}`, which every service understands. */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  return spliceMembers(
    body,
    (member) => (member.name === 'documents' ? plainTexts(member, body.bytes) : editMember(member, body, edits)),
    null,
  )
}

function plainTexts(member: MemberSpan, bytes: Buffer): MemberEdit {
  const brace = bytes.indexOf(BRACE, member.valueStart)
  if (brace === -1 || brace >= member.valueEnd) return null
  const documents: unknown = JSON.parse(bytes.toString('utf8', member.valueStart, member.valueEnd))
  if (!Array.isArray(documents) || !documents.some(isText)) return null
  return JSON.stringify(documents.map((document: unknown) => (isText(document) ? document.text : document)))
}

/** Nothing but a text: pictures and fields that a service may rank by stay as they are. */
function isText(document: unknown): document is { readonly text: string } {
  const object = asObject(document)
  return object !== null && typeof object['text'] === 'string' && Object.keys(object).length === 1
}
