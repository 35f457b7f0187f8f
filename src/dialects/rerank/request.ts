import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { MemberSpan, RequestBody } from '../../shared/core/request-body.ts'
import type { MemberEdit } from '../common/body-edits.ts'
import { editMember, spliceMembers } from '../common/body-edits.ts'
import { asObject } from '../common/json-value.ts'

const BRACE = 0x7b

/** Sets the upstream's model name. Turns documents of the form `{text}` into texts, which every service takes. */
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

/** Whether the document holds nothing but a text. Images and fields that a service may rank by stay unchanged. */
function isText(document: unknown): document is { readonly text: string } {
  const object = asObject(document)
  return object !== null && typeof object['text'] === 'string' && Object.keys(object).length === 1
}
