import type { EncoderOptions, StreamEncoder, TextFrame } from '../../shared/core/codec.ts'
import { thinkingBlock } from '../../shared/core/content.ts'
import type { RedactedThinkingBlock, ThinkingBlock } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { EndEvent, StartEvent, StreamEvent, ToolStartEvent } from '../../shared/core/stream-event.ts'
import { answerId } from '../common/answer-id.ts'
import { estimatedUsage } from '../common/estimate-tokens.ts'
import { detailOf } from './reasoning.ts'
import { writeStop } from './stop-reason.ts'
import { writeUsage } from './write-usage.ts'

const DONE = 'data: [DONE]\n\n'

/** Writes chat chunks. The text around the deltas is built once for each stream or call. */
export class ChatEncoder implements StreamEncoder {
  readonly dropped = new Set<string>()
  readonly #options: EncoderOptions
  #top = ''
  #head = ''
  #tail = ''
  #textLength = 0
  #refusing = false
  /** Index of the last call that began; the first is 0. */
  #tools = -1
  #kind: ToolStartEvent['kind'] = 'function'
  #toolHead = ''
  #toolTail = ''
  #hasInput = false
  /**
   * Details of the thinking so far. They are sent together, because SDKs keep the last list of a stream, or join the entries'
   * texts.
   */
  readonly #details: JsonObject[] = []
  #thought = ''
  #signature: string | null = null
  #format: string | null = null

  constructor(options: EncoderOptions) {
    this.#options = options
  }

  encode(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
        this.#textLength += event.text.length
        return `${this.#textHead()}${JSON.stringify(event.text)}}${this.#tail}`
      case 'thinking-delta':
        this.#textLength += event.text.length
        if (this.#options.reasoningDetails) this.#thought += event.text
        return `${this.#head}{"reasoning_content":${JSON.stringify(event.text)}}${this.#tail}`
      case 'tool-delta':
        this.#textLength += event.text.length
        this.#hasInput = true
        return `${this.#toolHead}${JSON.stringify(event.text)}${this.#toolTail}`
      case 'start':
        return this.#start(event)
      case 'text-start':
        this.#refusing = event.refusal
        return ''
      case 'citation':
        this.dropped.add('content.citations')
        return ''
      case 'thinking-start':
        this.#thought = ''
        this.#signature = null
        this.#format = event.format
        return ''
      case 'thinking-signature':
        this.#signature = event.text
        return ''
      case 'thinking-end':
        if (this.#options.reasoningDetails && (this.#thought !== '' || this.#signature !== null)) {
          this.#detail(thinkingBlock(this.#thought, this.#signature, this.#format))
        }
        return ''
      case 'redacted-thinking':
        if (this.#options.reasoningDetails) this.#detail({ ...event, extra: null })
        else this.dropped.add('content.redacted_thinking')
        return ''
      case 'tool-start':
        return this.#startTool(event)
      case 'tool-end':
        // A call without input gets an empty object as its arguments.
        return this.#hasInput || this.#kind === 'custom' ? '' : `${this.#toolHead}"{}"${this.#toolTail}`
      case 'native-start':
        this.dropped.add(`content.${event.kind}`)
        return ''
      case 'end':
        return this.#end(event)
      case 'text-end':
      case 'native-delta':
      case 'native-end':
      case 'ping':
      case 'error':
        return ''
    }
  }

  textFrame(): TextFrame {
    return { head: this.#textHead(), tail: `}${this.#tail}` }
  }

  countText(characters: number): void {
    this.#textLength += characters
  }

  #textHead(): string {
    return `${this.#head}{"${this.#refusing ? 'refusal' : 'content'}":`
  }

  #start(event: StartEvent): string {
    const { id, model, created, wantsUsage } = this.#options
    const top = {
      id: answerId('chatcmpl-', event.id, id),
      object: 'chat.completion.chunk',
      created: event.created ?? created,
      model: model ?? event.model,
    }
    this.#top = `data: ${JSON.stringify(top).slice(0, -1)},"choices":[`
    this.#head = `${this.#top}{"index":0,"delta":`
    this.#tail = `,"finish_reason":null}]${wantsUsage ? ',"usage":null' : ''}}\n\n`
    return `${this.#head}{"role":"assistant","content":""}${this.#tail}`
  }

  #startTool({ kind, id, name, signature }: ToolStartEvent): string {
    this.#kind = kind
    this.#hasInput = false
    const written = JSON.stringify(name)
    if (kind === 'legacy') {
      this.#toolHead = `${this.#head}{"function_call":{"arguments":`
      this.#toolTail = `}}${this.#tail}`
      return `${this.#head}{"function_call":{"name":${written},"arguments":""}}${this.#tail}`
    }
    this.#tools++
    const member = kind === 'custom' ? 'input' : 'arguments'
    const toolId = JSON.stringify(id === '' ? `call_${this.#options.id}_${this.#tools}` : id)
    const extra =
      signature === null ? '' : `,"extra_content":{"google":{"thought_signature":${JSON.stringify(signature)}}}`
    this.#toolHead = `${this.#head}{"tool_calls":[{"index":${this.#tools},"${kind}":{"${member}":`
    this.#toolTail = `}}]}${this.#tail}`
    const head = `${this.#head}{"tool_calls":[{"index":${this.#tools},"id":${toolId},"type":"${kind}"`
    return `${head},"${kind}":{"name":${written},"${member}":""}${extra}}]}${this.#tail}`
  }

  #detail(block: ThinkingBlock | RedactedThinkingBlock): void {
    this.#details.push(detailOf(block, this.#details.length))
  }

  #end({ stop, usage }: EndEvent): string {
    const written = writeStop(stop)
    const reason = written === 'tool_calls' && this.#kind === 'legacy' ? 'function_call' : written
    const details =
      this.#details.length === 0
        ? ''
        : `${this.#head}{"reasoning_details":${JSON.stringify(this.#details)}}${this.#tail}`
    const finish = `${details}${this.#head}{},"finish_reason":"${reason}"}]${this.#options.wantsUsage ? ',"usage":null' : ''}}\n\n`
    if (!this.#options.wantsUsage) return finish + DONE
    const counted = usage ?? estimatedUsage(this.#options.estimatedPromptTokens, this.#textLength)
    return `${finish}${this.#top}],"usage":${JSON.stringify(writeUsage(counted))}}\n\n${DONE}`
  }
}
