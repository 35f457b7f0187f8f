import type { BodyEdits } from '../../shared/core/dialect.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import { editMember, spliceMembers } from '../common/body-edits.ts'
import { asObject } from '../common/json-value.ts'
import { THOUGHT_FORMAT } from '../common/thought-signature.ts'
import { FOREIGN_SIGNATURE } from './parse-block.ts'

/**
 * Makes the common edits and removes thinking of other providers. The client got that thinking under a signature of the
 * gateway, which the service would refuse.
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
    // An empty message would be refused too.
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
