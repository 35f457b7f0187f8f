import type { Target } from '../../shared/core/codec.ts'
import { textBlock } from '../../shared/core/content.ts'
import type { Block, CacheMark, MediaSource } from '../../shared/core/content.ts'
import type { Role } from '../../shared/core/conversation.ts'
import { plainMediaType } from '../common/data-url.ts'
import type { DroppedFields } from '../dropped-fields.ts'
import { remoteMedia } from '../common/remote-media.ts'
import { upstreamToolId } from '../common/tool-ids.ts'
import type { ToolNames } from '../common/tool-names.ts'
import { SIGNED_FORMAT } from '../common/signed-thinking.ts'

const MAX_CACHE_MARKS = 4

/** Converts blocks of other dialects to blocks that this dialect can carry. One per request, because it counts cache marks. */
export class BlockAdapter {
  readonly #target: Target
  readonly #names: ToolNames
  readonly #droppedFields: DroppedFields
  #marks = 0

  constructor(target: Target, names: ToolNames, droppedFields: DroppedFields) {
    this.#target = target
    this.#names = names
    this.#droppedFields = droppedFields
  }

  mark(mark: CacheMark | null): CacheMark | null {
    if (mark === null) return null
    if (this.#target.takesCacheMarks && this.#marks < MAX_CACHE_MARKS) {
      this.#marks++
      return mark
    }
    this.#droppedFields.lose('content.cache_control')
    return null
  }

  adapt(block: Block, role: Role): Block | null {
    switch (block.type) {
      case 'text':
        if (block.extra !== null) this.#droppedFields.lose('content.extra')
        return textBlock(block.text, this.mark(block.cache))
      case 'refusal':
        return textBlock(block.text)
      case 'image':
        this.#droppedFields.dropValue('content.image_url.detail', block.detail)
        return { ...block, source: this.#source(block.source, 'image'), cache: this.mark(block.cache), extra: null }
      case 'document': {
        const source = this.#source(block.source, 'document')
        return { ...block, source: documentSource(source), cache: this.mark(block.cache), extra: null }
      }
      case 'search-result':
        return { ...block, cache: this.mark(block.cache), extra: null }
      case 'tool-call':
        return {
          ...block,
          id: upstreamToolId(block.id, this.#target),
          name: this.#names.upstream(block.name),
          input: block.kind === 'custom' ? { input: block.input } : block.input,
          cache: this.mark(block.cache),
          extra: null,
        }
      case 'tool-result':
        return {
          ...block,
          callId: upstreamToolId(block.callId, this.#target),
          content: this.#inner(block.content),
          cache: this.mark(block.cache),
          extra: null,
        }
      case 'thinking':
        if (block.signature !== null && block.format === SIGNED_FORMAT) return { ...block, extra: null }
        this.#droppedFields.lose('content.thinking', 'messages.reasoning_content')
        return null
      case 'redacted-thinking':
        if (block.format === SIGNED_FORMAT) return { ...block, extra: null }
        this.#droppedFields.lose('content.thinking', 'messages.reasoning_content')
        return null
      case 'tool-reference':
        return textBlock(block.name)
      case 'audio':
        this.#droppedFields.lose('content.audio', 'messages.content.input_audio')
        return null
      case 'native':
        this.#droppedFields.loseNative(block.kind, role)
        return null
    }
  }

  #inner(content: readonly Block[]): readonly Block[] {
    const adapted: Block[] = []
    for (const block of content) {
      const inner = this.adapt(block, 'tool')
      if (inner !== null && !(inner.type === 'text' && inner.text.trim() === '')) adapted.push(inner)
    }
    return adapted
  }

  #source(source: MediaSource, media: 'image' | 'document'): MediaSource {
    if (source.kind === 'file') throw remoteMedia(media, 'file', this.#droppedFields.from)
    if (source.kind === 'native') this.#droppedFields.lose('content.native', 'messages.content.source')
    return source.kind === 'base64' ? { ...source, mediaType: plainMediaType(source.mediaType) } : source
  }
}

/** Text may not be base64. A document without a type is taken for PDF, which all services know. */
function documentSource(source: MediaSource): MediaSource {
  if (source.kind !== 'base64') return source
  if (source.mediaType === '') return { ...source, mediaType: 'application/pdf' }
  if (!source.mediaType.startsWith('text/')) return source
  return { kind: 'text', mediaType: 'text/plain', text: Buffer.from(source.data, 'base64').toString('utf8') }
}
