import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { editMember, spliceMembers } from '../body-edits.ts'
import { asObject } from '../json-value.ts'
import { THOUGHT_FORMAT } from '../thought-signature.ts'
import { FOREIGN_SIGNATURE } from './parse-block.ts'

/**
 * The body with no edits but the common ones, and without thinking that other providers did in the same conversation: shown to
 * this client under a signature of ours, which the service would refuse to take back.
 */
export function prepareBody(body: RequestBody, edits: BodyEdits): Buffer {
  const { bytes } = body
  const isMixed = bytes.includes(FOREIGN_SIGNATURE) || bytes.includes(`${THOUGHT_FORMAT}:`)
  return spliceMembers(
    body,
    (member) =>
      isMixed && member.name === 'messages'
        ? withoutForeignThinking(bytes.toString('utf8', member.valueStart, member.valueEnd))
        : editMember(member, body, edits),
    null,
  )
}

function withoutForeignThinking(json: string): string {
  const messages = JSON.parse(json) as unknown[]
  const kept = messages.flatMap((value) => {
    const message = asObject(value)
    const content = message?.['content']
    if (message?.['role'] !== 'assistant' || !Array.isArray(content)) return [value]
    const own = content.filter((block) => !isForeign(asObject(block)))
    if (own.length === content.length) return [value]
    // A turn of nothing is refused as well.
    return own.length === 0 ? [] : [{ ...message, content: own }]
  })
  return JSON.stringify(kept)
}

function isForeign(block: Readonly<Record<string, unknown>> | null): boolean {
  if (block?.['type'] === 'thinking') return isOurs(block['signature'])
  return block?.['type'] === 'redacted_thinking' && isOurs(block['data'])
}

function isOurs(text: unknown): boolean {
  return text === FOREIGN_SIGNATURE || (typeof text === 'string' && text.startsWith(`${THOUGHT_FORMAT}:`))
}
