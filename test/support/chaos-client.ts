import { eventsOf } from './ai-calls.ts'
import type { ChaosPlan } from './chaos-plan.ts'
import { postBytes, RawClient } from './raw-client.ts'
import type { RawAnswer, RawPost } from './raw-client.ts'
import { steeredRequest } from './steered-request.ts'

export interface ChaosFate {
  readonly plan: ChaosPlan
  /** Sent as `X-Client-Request-Id`, and to the simulator as the user. */
  readonly id: string
  /** `answered`: the answer was whole and well-formed. `left`: the client left first. */
  readonly outcome: 'answered' | 'left' | 'broken'
  readonly status: number
  /** The gateway's id of the request; empty without an answer. */
  readonly requestId: string
  /** The reason for `broken`; of an error answer, its message. */
  readonly error: string | null
}

export interface ChaosTarget {
  readonly port: number
  readonly apiKey: string
  /** An entry key with a low concurrency limit. */
  readonly limitedKey: string
  /** Prefix of the ids. */
  readonly name: string
}

const DAWDLE_MS = 300
const ANSWER_MS = 60_000

/** Sends requests one after the other, on one connection as long as the server keeps it alive. */
export class ChaosClient {
  readonly #target: ChaosTarget
  #client: RawClient | null = null

  constructor(target: ChaosTarget) {
    this.#target = target
  }

  close(): void {
    this.#client?.close()
  }

  async run(plan: ChaosPlan): Promise<ChaosFate> {
    const { name, port } = this.#target
    const id = `${name}-${plan.n}`
    const client = this.#client?.ended === false ? this.#client : await RawClient.connect(port)
    this.#client = client
    const lateness = setTimeout(() => {
      client.reset()
    }, ANSWER_MS)
    const timers = [lateness]
    const state = { left: false }
    const leave = (): void => {
      state.left = true
      if (plan.resets) client.reset()
      else client.close()
    }
    try {
      const answer = await this.#exchange(client, id, plan, { leave, timers })
      const { status, requestId } = answer
      const fault = faultOf(plan, answer)
      const error = fault ?? (status === 200 ? null : messageOf(answer))
      return { plan, id, outcome: fault === null ? 'answered' : 'broken', status, requestId, error }
    } catch (cause) {
      client.close()
      const outcome = state.left ? 'left' : 'broken'
      return { plan, id, outcome, status: client.head?.status ?? 0, requestId: '', error: String(cause) }
    } finally {
      for (const timer of timers) clearTimeout(timer)
      client.resume()
    }
  }

  #requestOf(id: string, { dialect, embeds, stream, behaviour, limited }: ChaosPlan): RawPost {
    const apiKey = limited ? this.#target.limitedKey : this.#target.apiKey
    const model = MODELS[dialect]
    const request = steeredRequest({ apiKey, dialect, model, user: id, stream, behaviour })
    if (!embeds) return request
    const input = `[[sim ${JSON.stringify(behaviour)}]]`
    return { ...request, path: '/v1/embeddings', body: JSON.stringify({ model, user: id, input }) }
  }

  #exchange(
    client: RawClient,
    id: string,
    plan: ChaosPlan,
    { leave, timers }: { leave: () => void; timers: NodeJS.Timeout[] },
  ): Promise<RawAnswer> {
    const { leaving, dawdles } = plan
    const bytes = postBytes(this.#requestOf(id, plan))
    let begun = false
    client.onRead(() => {
      if (dawdles && !begun && client.head !== null) {
        begun = true
        client.pause()
        timers.push(
          setTimeout(() => {
            client.resume()
          }, DAWDLE_MS),
        )
      }
      if (leaving?.at === 'within the answer' && client.bodyBytes >= leaving.bytes) leave()
    })
    const answer = client.answer()
    if (leaving?.at === 'within the request') {
      client.socket.write(bytes.subarray(0, Math.floor(bytes.length * leaving.share)), leave)
    } else client.send(bytes)
    if (leaving?.at === 'after a while') timers.push(setTimeout(leave, leaving.ms))
    return answer
  }
}

export const MODELS = { 'openai-chat': 'm', 'anthropic-messages': 'c' } as const

function messageOf({ body }: RawAnswer): string {
  return (JSON.parse(body.toString('utf8')) as { error: { message: string } }).error.message
}

/** The fault of a complete answer; null when it has none. */
function faultOf({ stream, dialect }: ChaosPlan, { status, body }: RawAnswer): string | null {
  const text = body.toString('utf8')
  try {
    if (!stream || status !== 200) {
      JSON.parse(text)
      return null
    }
    const events = eventsOf(text.replaceAll('\r\n', '\n')).filter(({ data }) => data !== '')
    const last = events.at(-1)
    const isEnd =
      dialect === 'openai-chat'
        ? last?.data === '[DONE]' || last?.data.startsWith('{"error":') === true
        : last?.event === 'message_stop' || last?.event === 'error'
    return isEnd ? null : `the stream ends with ${JSON.stringify(last)}`
  } catch (cause) {
    return `${String(cause)} in ${text.slice(0, 200)}`
  }
}
