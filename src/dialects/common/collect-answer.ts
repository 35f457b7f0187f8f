import type { Answer } from '../../shared/core/answer.ts'
import { nativeBlock, refusalBlock, textBlock, thinkingBlock, toolCallBlock } from '../../shared/core/content.ts'
import type { Block, Citation } from '../../shared/core/content.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { StartEvent, StreamEvent, ToolStartEvent } from '../../shared/core/stream-event.ts'

/** Assembles the events of one stream into the whole answer, for clients that did not ask for a stream. */
export class AnswerCollector {
  failure: UpstreamFailure | null = null
  answer: Answer | null = null
  readonly #content: Block[] = []
  #start: StartEvent | null = null
  #text = ''
  #signature = ''
  #format: string | null = null
  #refusal = false
  #citations: Citation[] | null = null
  #tool: ToolStartEvent | null = null

  take(event: StreamEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'thinking-delta':
      case 'tool-delta':
        this.#text += event.text
        break
      case 'start':
        this.#start = event
        break
      case 'text-start':
        this.#text = ''
        this.#refusal = event.refusal
        this.#citations = null
        break
      case 'citation':
        this.#citations ??= []
        this.#citations.push(event.citation)
        break
      case 'text-end':
        this.#content.push(
          this.#refusal ? refusalBlock(this.#text) : { ...textBlock(this.#text), citations: this.#citations },
        )
        break
      case 'thinking-start':
        this.#text = ''
        this.#signature = ''
        this.#format = event.format
        break
      case 'thinking-signature':
        this.#signature += event.text
        break
      case 'thinking-end':
        this.#content.push(thinkingBlock(this.#text, this.#signature === '' ? null : this.#signature, this.#format))
        break
      case 'redacted-thinking':
        this.#content.push({ type: 'redacted-thinking', data: event.data, format: event.format, extra: null })
        break
      case 'tool-start':
        this.#text = ''
        this.#tool = event
        break
      case 'tool-end':
        this.#endTool()
        break
      case 'native-start':
        this.#content.push(nativeBlock(event.kind, event.value))
        break
      case 'end':
        this.answer = {
          from: this.#start?.from ?? 'openai-chat',
          id: this.#start?.id ?? '',
          model: this.#start?.model ?? '',
          created: this.#start?.created ?? null,
          content: this.#content,
          stop: event.stop,
          usage: event.usage,
          nativeUsage: event.nativeUsage,
          extra: null,
        }
        break
      case 'error':
        this.failure = event.failure
        break
      case 'native-delta':
      case 'native-end':
      case 'ping':
    }
  }

  #endTool(): void {
    if (this.#tool === null) return
    const { kind, id, name, signature } = this.#tool
    this.#content.push(toolCallBlock({ kind, id, name, signature, input: this.#text }))
  }
}
