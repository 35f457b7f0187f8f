import { joinData, SseSplitter } from '../../../shared/wire/sse.ts'
import type { AiAnswer } from '../../../shared/core/ai-request.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { Content, Json, ToolCall, ToolOutcome } from '../tool-source.ts'
import { BrokenRound } from './chat.ts'
import { isJson } from './json-values.ts'
import type { CallResult, Chat, ModelCall } from './chat.ts'

export interface ChatLoopOptions {
  readonly chat: Chat
  readonly bounds: {
    readonly maxRounds: number
    readonly maxResultBytes: number
    /** Calls of tools; null: only the rounds bound them. */
    readonly maxCalls: number | null
  }
  /** The rounds so far have cost as much as they may. */
  readonly isSpent: () => boolean
  /** Has a front serve a round. */
  readonly request: (path: string, body: Json) => Promise<AiAnswer>
  readonly callTool: (call: Pick<ToolCall, 'name' | 'input'>) => Promise<ToolOutcome | null>
  /** Aborted when the client has left, and when the time is over. */
  readonly signal: AbortSignal
}

/** Calls of one round that are made; the model is told so of further ones. */
const MAX_CALLS_OF_ROUND = 16
/** A whole answer of a round. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** A front has refused a round. */
export class RefusedRound extends Error {
  readonly answer: AiAnswer
  /** Tools may have been called before. */
  readonly isFirst: boolean

  constructor(answer: AiAnswer, isFirst: boolean) {
    super(`a round was refused with ${answer.status}`)
    this.name = 'RefusedRound'
    this.answer = answer
    this.isFirst = isFirst
  }
}

/** Asks the model, makes the calls that it wants, and asks again, until it answers without calls. */
export class ChatLoop {
  readonly #options: ChatLoopOptions
  #rounds = 0
  #calls = 0
  #isLast = false

  constructor(options: ChatLoopOptions) {
    this.#options = options
  }

  /** Begins a round. Throws RefusedRound, or CLIENT_CLOSED when the signal aborts. */
  async begin(): Promise<AiAnswer> {
    const { chat, bounds, isSpent, request } = this.#options
    if (this.#rounds === 0) await this.#makeApproved()
    this.#rounds += 1
    const isOutOfCalls = bounds.maxCalls !== null && this.#calls >= bounds.maxCalls
    this.#isLast = this.#rounds >= bounds.maxRounds || isOutOfCalls || (this.#rounds > 1 && isSpent())
    const answer = await request(chat.path, chat.roundBody(this.#isLast))
    if (answer.status >= 400) throw new RefusedRound(answer, this.#rounds === 1 && this.#calls === 0)
    return answer
  }

  /** Goes on from the answer to the first round. Yields what the client gets of it; nothing where its answer is whole. */
  async *run(first: AiAnswer): AsyncGenerator<string> {
    const { chat } = this.#options
    for (let answer = first; ; answer = await this.begin()) {
      if (chat.isStream) yield* this.#readStream(answer)
      else chat.readWhole(JSON.parse((await bytesOf(answer)).toString('utf8')) as Json)
      const { calls, text = '', isPaused = false } = chat.endRound(this.#isLast)
      yield text
      if (calls.length > 0) yield* this.#make(calls)
      if (calls.length === 0 || isPaused) break
    }
    yield chat.end()
  }

  async *#readStream({ body }: AiAnswer): AsyncGenerator<string> {
    const splitter = new SseSplitter()
    const { chat } = this.#options
    for await (const bytes of body) {
      let text = ''
      let failure: BrokenRound | null = null
      splitter.split(bytes, (chunk, start, end) => {
        const data = joinData(chunk, start, end)?.toString('utf8')
        if (data === undefined || data === '') return true
        try {
          text += chat.readEvent(data)
        } catch (cause) {
          if (!(cause instanceof BrokenRound)) throw cause
          failure = cause
        }
        return failure === null
      })
      if (text !== '') yield text
      if (failure !== null) throw failure as BrokenRound
    }
  }

  /** Makes the calls of a round at the same time; yields as they begin and end. */
  async *#make(calls: readonly ModelCall[]): AsyncGenerator<string> {
    const { chat } = this.#options
    yield calls.map((call) => chat.callBegins(call)).join('')
    const running = new Map(
      calls.map((call, at) => [call, this.#resultWithin(call, at).then((value) => [call, value] as const)] as const),
    )
    while (running.size > 0) {
      const [call, result] = await Promise.race(running.values())
      running.delete(call)
      yield chat.callEnds(call, result)
    }
  }

  async #makeApproved(): Promise<void> {
    const { approved } = this.#options.chat
    await Promise.all(
      (approved?.calls ?? []).map(async (call, at) => approved?.ends(call, await this.#resultWithin(call, at))),
    )
  }

  /** @param at the number of the call among those that are made at the same time */
  #resultWithin(call: ModelCall, at: number): Promise<CallResult> {
    const isTooMany = at >= MAX_CALLS_OF_ROUND || this.#isOverCalls()
    return isTooMany ? Promise.resolve(TOO_MANY) : this.#result(call)
  }

  #isOverCalls(): boolean {
    const { maxCalls } = this.#options.bounds
    this.#calls += 1
    return maxCalls !== null && this.#calls > maxCalls
  }

  async #result({ offered, input }: ModelCall): Promise<CallResult> {
    const { bounds, callTool, signal } = this.#options
    const parsed = parsedInput(input)
    if (parsed === null) return { output: null, error: 'The arguments are not a JSON object.' }
    const outcome = await untilAborted(callTool({ name: offered.tool.name, input: parsed }), signal)
    if (outcome === null) return { output: null, error: 'This tool is not there any more.' }
    if (!outcome.isError) {
      const text = cut(textOf(outcome.content), bounds.maxResultBytes)
      return outcome.hasFailed === true ? { output: null, error: text } : { output: text, error: null }
    }
    const { code, message, param } = outcome.error
    return {
      output: null,
      error: cut(`${code}: ${message}${param === null ? '' : ` (${param})`}`, bounds.maxResultBytes),
    }
  }
}

const TOO_MANY: CallResult = { output: null, error: 'Too many calls: this one was not made.' }

/** Some models send nothing for a tool without arguments. */
function parsedInput(input: string): Json | null {
  if (input.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(input)
    return isJson(value) ? value : null
  } catch {
    return null
  }
}

function textOf(content: readonly Content[]): string {
  return content
    .map((one) => (typeof one['text'] === 'string' ? one['text'] : (resourceText(one) ?? `[${one.type}]`)))
    .join('\n')
}

function resourceText({ type, ...content }: Content): string | null {
  const { resource } = content as Json
  if (type !== 'resource' || !isJson(resource)) return null
  return typeof resource['text'] === 'string' ? resource['text'] : null
}

/** Cuts no character in half. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return `${bytes.toString('utf8', 0, end)}\n[cut: the result has ${bytes.length} bytes, and ${end} of them are here]`
}

/** Rejects with CLIENT_CLOSED when the signal aborts, also where the work does not heed it. */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let leave = (): void => undefined
  const left = new Promise<never>((_, reject) => {
    leave = () => {
      reject(new GatewayError('CLIENT_CLOSED'))
    }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
  })
  try {
    return await Promise.race([work, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** A whole answer. Throws UPSTREAM_INVALID_ANSWER where it is too large. */
export async function bytesOf({ body }: AiAnswer): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > MAX_ANSWER_BYTES) throw new GatewayError('UPSTREAM_INVALID_ANSWER')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
