import type { Block, CacheMark, SearchResultBlock, ToolResultBlock } from '../../shared/core/content.ts'
import type { WireDialect } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { inputObject } from '../common/tool-input.ts'
import { DocumentWriter, writeImage } from './build-media.ts'
import type { Family } from './family.ts'
import { writeRedacted } from './redacted.ts'

const NO_OUTPUT = '(no output)'
/** The service requires a text beside a document. */
const ABOUT_DOCUMENT = 'See the document.'

/** Writes the content of all turns of one request. */
export class BlockWriter {
  readonly #documents = new DocumentWriter()
  readonly #family: Family
  readonly #from: WireDialect

  /** @param from the client's dialect; refusals name fields as it does */
  constructor(family: Family, from: WireDialect) {
    this.#family = family
    this.#from = from
  }

  /** Writes the content of a turn. A cache mark follows the block that it marks. */
  write(content: readonly Block[]): JsonObject[] {
    const written: JsonObject[] = []
    for (const block of content) {
      written.push(this.#writeBlock(block))
      const mark = markOf(block)
      if (mark !== null) written.push(cachePoint(mark))
    }
    const hasText = content.some((block) => block.type === 'text')
    if (!hasText && content.some((block) => block.type === 'document')) written.push({ text: ABOUT_DOCUMENT })
    return written
  }

  #writeBlock(block: Block): JsonObject {
    switch (block.type) {
      case 'text':
      case 'refusal':
        return { text: block.text }
      case 'image':
        return writeImage(block, this.#from)
      case 'document':
        return this.#documents.write(block, this.#from)
      case 'search-result':
        return this.#searchResult(block)
      case 'tool-call':
        return { toolUse: { toolUseId: block.id, name: block.name, input: inputObject(block.input) } }
      case 'tool-result':
        return { toolResult: this.#result(block) }
      case 'thinking': {
        const signature = block.signature === null ? null : { signature: block.signature }
        return { reasoningContent: { reasoningText: { text: block.text, ...signature } } }
      }
      case 'redacted-thinking':
        return { reasoningContent: { redactedContent: writeRedacted(block.data) } }
      case 'tool-reference':
        return { text: block.name }
      case 'audio':
      case 'native':
        throw new Error(`A block of ${block.type} was not adapted.`)
    }
  }

  #result({ callId, content, isError }: ToolResultBlock): JsonObject {
    const tellsErrors = this.#family === 'anthropic' || this.#family === 'nova'
    const written = content.map((block) => this.#writeBlock(block))
    if (isError && !tellsErrors) written.unshift({ text: 'Error:' })
    return {
      toolUseId: callId,
      content: written.length === 0 ? [{ text: NO_OUTPUT }] : written,
      ...(isError && tellsErrors ? { status: 'error' } : null),
    }
  }

  #searchResult({ source, title, content, citations }: SearchResultBlock): JsonObject {
    const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    if (this.#family !== 'anthropic')
      return { text: [title, source, ...texts].filter((text) => text !== '').join('\n') }
    const cites = citations === null ? null : { citations: { enabled: citations } }
    return { searchResult: { source, title, content: texts.map((text) => ({ text })), ...cites } }
  }
}

/** A result cannot hold marks: the first mark within it follows the result. */
function markOf(block: Block): CacheMark | null {
  const own = 'cache' in block ? block.cache : null
  if (own !== null || block.type !== 'tool-result') return own
  for (const inner of block.content) if ('cache' in inner && inner.cache !== null) return inner.cache
  return null
}

export function cachePoint({ ttl }: CacheMark): JsonObject {
  return { cachePoint: { type: 'default', ...(ttl === null ? null : { ttl }) } }
}
