import type { Target } from '../../shared/core/codec.ts'
import type { Block, CacheMark } from '../../shared/core/content.ts'
import type { Role } from '../../shared/core/conversation.ts'
import { BlockAdapter } from '../anthropic-messages/adapt.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'
import { unsealSignature } from '../common/thought-signature.ts'
import type { ToolNames } from '../common/tool-names.ts'
import type { Family } from './family.ts'

/**
 * Converts blocks to blocks that Converse can carry, nearly those of messages. One per request, because it counts cache
 * marks.
 */
export class ConverseAdapter {
  readonly #messages: BlockAdapter
  readonly #droppedFields: DroppedFields
  readonly #family: Family

  constructor(target: Target, family: Family, names: ToolNames, droppedFields: DroppedFields) {
    this.#messages = new BlockAdapter(target, names, droppedFields)
    this.#family = family
    this.#droppedFields = droppedFields
  }

  mark(mark: CacheMark | null): CacheMark | null {
    return this.#messages.mark(mark)
  }

  adapt(block: Block, role: Role): Block | null {
    switch (block.type) {
      case 'thinking':
      case 'redacted-thinking': {
        const signed = block.type === 'redacted-thinking' || block.signature !== null
        const isOfOthers = unsealSignature(block) !== null
        const ours = !isOfOthers && (block.format === null || block.format === SIGNED_FORMAT)
        if (this.#family === 'anthropic' && signed && ours) return block
        this.#droppedFields.lose('content.thinking')
        return null
      }
      default:
        return this.#messages.adapt(block, role)
    }
  }
}
