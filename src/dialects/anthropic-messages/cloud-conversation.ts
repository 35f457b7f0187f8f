import type { Block, MediaSource } from '../../shared/core/content.ts'
import type { Conversation, Message } from '../../shared/core/conversation.ts'
import { isBillingHeader } from '../common/billing-header.ts'
import { remoteMedia } from '../common/remote-media.ts'
import { unsealSignature } from '../common/thought-signature.ts'

/**
 * Removes what only the first-party service or other providers can read. Throws UNSUPPORTED_FIELD for media that would have
 * to be fetched: the clouds fetch nothing.
 */
export function cloudConversation(conversation: Conversation, dropped: Set<string>): Conversation {
  const { from, system, messages } = conversation
  const kept = messages.map((message) => rewritten(message, (block) => keptBlock(block, from, dropped)))
  return {
    ...conversation,
    system: system.map((message) => rewritten(message, withoutBilling)).filter(({ content }) => content.length > 0),
    // An empty message would be refused too.
    messages: kept.filter((message, at) => message.content.length > 0 || messages[at]?.content.length === 0),
  }
}

function rewritten(message: Message, rewrite: (block: Block) => Block | null): Message {
  let changed = false
  const content: Block[] = []
  for (const block of message.content) {
    const kept = rewrite(block)
    if (kept !== block) changed = true
    if (kept !== null) content.push(kept)
  }
  return changed ? { ...message, content } : message
}

function withoutBilling(block: Block): Block | null {
  return block.type === 'text' && isBillingHeader(block.text) ? null : block
}

function keptBlock(block: Block, from: Conversation['from'], dropped: Set<string>): Block | null {
  switch (block.type) {
    case 'image':
    case 'document':
      checkSource(block.source, block.type, from)
      return block
    case 'tool-result':
      for (const inner of block.content) keptBlock(inner, from, dropped)
      return block
    case 'thinking':
    case 'redacted-thinking': {
      if (from !== 'anthropic-messages') return block
      const isSigned = block.type === 'redacted-thinking' || block.signature !== null
      if (isSigned && unsealSignature(block) === null) return block
      dropped.add('content.thinking')
      return null
    }
    default:
      return block
  }
}

function checkSource(source: MediaSource, type: 'image' | 'document', from: Conversation['from']): void {
  if (source.kind === 'url' || source.kind === 'file') throw remoteMedia(type, source.kind, from)
}
