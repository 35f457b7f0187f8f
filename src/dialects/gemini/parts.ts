import type { Citation } from '../../shared/core/content.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import { BlockWriter } from '../common/block-writer.ts'
import { dataUrl } from '../common/data-url.ts'
import { arrayOf, objects, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { sealSignature, THOUGHT_FORMAT } from '../common/thought-signature.ts'
import { cleaned, hashText } from '../common/tool-ids.ts'
import { PartialArguments } from './partial-arguments.ts'

/** Parts that only this service can read. */
const NATIVE = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse', 'inlineData', 'fileData'] as const

/** Reads the parts of one answer, at once or chunk by chunk. */
export class PartReader {
  readonly #blocks = new BlockWriter()
  #arguments: PartialArguments | null = null
  #calls = 0

  get hasCalls(): boolean {
    return this.#blocks.hasCalls
  }

  get hasContent(): boolean {
    return this.#blocks.hasContent
  }

  /** @param answerId makes the ids of this answer's calls differ from those of others */
  read(part: JsonObject, answerId: string, out: StreamEvent[]): void {
    const call = asObject(part['functionCall'])
    if (call !== null) {
      this.#readCall(call, textOr(part['thoughtSignature'], null), answerId, out)
      return
    }
    this.#endArguments(out)
    const text = textOr(part['text'], null) ?? imageOf(part)
    if (text === null) {
      this.#readNative(part, out)
      return
    }
    if (part['thought'] === true) this.#blocks.thinking(text, THOUGHT_FORMAT, out)
    else this.#blocks.text(text, out)
    const signature = part['thoughtSignature']
    if (typeof signature === 'string') this.#blocks.redacted(sealSignature(signature, 'text'), THOUGHT_FORMAT, out)
  }

  /** Adds the sources that the text before cites. */
  cite(candidate: JsonObject, out: StreamEvent[]): void {
    if (this.#blocks.open !== 'text') return
    for (const citation of citationsOf(candidate)) this.#blocks.citation(citation, out)
  }

  close(out: StreamEvent[]): void {
    this.#endArguments(out)
    this.#blocks.close(out)
  }

  /** Reads a whole call; or the start of one whose arguments follow, pieces of these, or `{}` for their end. */
  #readCall(call: JsonObject, signature: string | null, answerId: string, out: StreamEvent[]): void {
    const goesOn = call['willContinue'] === true
    const name = textOr(call['name'], '')
    if (name !== '') {
      this.close(out)
      this.#blocks.startTool(textOr(call['id'], '') || this.#mintId(answerId, signature), name, out, signature)
      this.#calls++
      if (goesOn || call['partialArgs'] !== undefined) this.#arguments = new PartialArguments()
      else this.#blocks.toolInput(JSON.stringify(call['args'] ?? {}), out)
    }
    this.#arguments?.add(call['partialArgs'])
    if (!goesOn && this.#blocks.open === 'tool') this.close(out)
  }

  #endArguments(out: StreamEvent[]): void {
    if (this.#arguments === null) return
    this.#blocks.toolInput(this.#arguments.text(), out)
    this.#arguments = null
  }

  /** The service gives most calls no id, but the ids within a conversation must differ. */
  #mintId(answerId: string, signature: string | null): string {
    if (answerId !== '') return `call_${cleaned(answerId, true).slice(0, 48)}_${this.#calls}`
    return signature === null ? '' : `call_${hashText(signature, 16)}_${this.#calls}`
  }

  #readNative(part: JsonObject, out: StreamEvent[]): void {
    const kind = NATIVE.find((name) => asObject(part[name]) !== null)
    if (kind === undefined) return
    this.#blocks.startNative(kind, part, out)
    this.#blocks.close(out)
  }
}

/** No client's dialect has images in answers. An image becomes Markdown text, which many clients show as an image. */
function imageOf(part: JsonObject): string | null {
  const type = textOr(valueAt(part, 'inlineData', 'mimeType'), '')
  const data = textOr(valueAt(part, 'inlineData', 'data'), '')
  return type.startsWith('image/') ? `![image](${dataUrl(type, data)})` : null
}

function citationsOf(candidate: JsonObject): Citation[] {
  const found: Citation[] = []
  for (const citation of objects(valueAt(candidate, 'citationMetadata', 'citations'))) {
    found.push(citationOf(citation, citation, null))
  }
  const sources = arrayOf(valueAt(candidate, 'groundingMetadata', 'groundingChunks'))
  const supports = objects(valueAt(candidate, 'groundingMetadata', 'groundingSupports'))
  if (supports.length === 0) for (const source of sources) pushSource(source, null, found)
  for (const support of supports) {
    const text = textOr(valueAt(support, 'segment', 'text'), null)
    for (const index of arrayOf(support['groundingChunkIndices'])) {
      if (typeof index === 'number') pushSource(sources[index], text, found)
    }
  }
  return found
}

function pushSource(source: unknown, text: string | null, into: Citation[]): void {
  const native = asObject(source)
  const page = asObject(native?.['web']) ?? asObject(native?.['retrievedContext'])
  if (native !== null && page !== null) into.push(citationOf(page, native, text))
}

/** The service counts positions in the answer in bytes. They stay in `native`. */
function citationOf(page: JsonObject, native: JsonObject, text: string | null): Citation {
  return { url: textOr(page['uri'], null), title: textOr(page['title'], null), text, start: null, end: null, native }
}
