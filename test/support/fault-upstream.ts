import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'

/** A correct answer of a provider, for plays that change how it is sent. */
export interface GoodAnswer {
  readonly contentType: string
  readonly body: string
}

/** A fault on one request after its body is read (`request`), or on one connection (`door`). */
export interface RawPlay {
  readonly at: 'door' | 'request'
  readonly act: (socket: Socket, good: GoodAnswer) => void
}

export interface FaultUpstreamOptions {
  readonly play: RawPlay
  readonly dialect: UpstreamDialectName
  readonly stream: boolean
  /** The first so many requests get the play, later ones a correct answer. */
  readonly badTurns: number
}

/** An upstream on raw sockets, for answers that no HTTP server would send. */
export class FaultUpstream {
  readonly #server: Server
  readonly #options: FaultUpstreamOptions
  readonly #sockets = new Set<Socket>()
  #turns = 0

  private constructor(options: FaultUpstreamOptions) {
    this.#options = options
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.#accept(socket)
    })
  }

  static start(options: FaultUpstreamOptions): Promise<FaultUpstream> {
    const upstream = new FaultUpstream(options)
    return new Promise((resolve, reject) => {
      upstream.#server.once('error', reject)
      upstream.#server.listen(0, '127.0.0.1', () => {
        resolve(upstream)
      })
    })
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests so far; for a play at the `door`, of connections. */
  get turns(): number {
    return this.#turns
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    return new Promise((resolve) => {
      this.#server.close(() => {
        resolve()
      })
    })
  }

  #accept(socket: Socket): void {
    const { play } = this.#options
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => this.#sockets.delete(socket))
    if (play.at === 'door' && this.#turns < this.#options.badTurns) {
      this.#turns += 1
      play.act(socket, goodAnswer(this.#options))
      return
    }
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      const length = requestLength(received)
      if (length === null || received.length < length) return
      received = received.subarray(length)
      this.#answer(socket)
    })
  }

  #answer(socket: Socket): void {
    const good = goodAnswer(this.#options)
    this.#turns += 1
    if (this.#turns <= this.#options.badTurns) this.#options.play.act(socket, good)
    else socket.write(httpAnswer(good))
  }
}

/** The bytes of the answer. @param headers are added to the usual ones */
export function httpAnswer(good: GoodAnswer, headers: readonly string[] = []): string {
  return answerHead(good, [`content-length: ${Buffer.byteLength(good.body)}`, ...headers]) + good.body
}

/** The head of the answer. @param headers must define the end of the body */
export function answerHead({ contentType }: GoodAnswer, headers: readonly string[]): string {
  return ['HTTP/1.1 200 OK', `content-type: ${contentType}`, ...headers, '', ''].join('\r\n')
}

/** The length of the request; null while its head is incomplete. */
function requestLength(bytes: Buffer): number | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1] ?? '0'
  return headEnd + 4 + Number(length)
}

const TEXT = 'You said: Hello there'
const CHAT_USAGE = { prompt_tokens: 2, completion_tokens: 5, total_tokens: 7 }

function goodAnswer({ dialect, stream }: Pick<FaultUpstreamOptions, 'dialect' | 'stream'>): GoodAnswer {
  if (!stream) {
    const body = JSON.stringify(dialect === 'openai-chat' ? chatAnswer() : message([{ type: 'text', text: TEXT }], 5))
    return { contentType: 'application/json', body }
  }
  const events = dialect === 'openai-chat' ? chatEvents() : messageEvents()
  return { contentType: 'text/event-stream', body: events.join('') }
}

function chatAnswer(): unknown {
  const choices = [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }]
  return { id: 'chatcmpl-raw', object: 'chat.completion', created: 1, model: 'raw', choices, usage: CHAT_USAGE }
}

function chatEvents(): string[] {
  const chunk = (members: object): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-raw', object: 'chat.completion.chunk', created: 1, model: 'raw', ...members })}\n\n`
  const choice = (delta: object, reason: string | null): object => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  return [
    chunk(choice({ role: 'assistant', content: '' }, null)),
    chunk(choice({ content: TEXT }, null)),
    chunk(choice({}, 'stop')),
    chunk({ choices: [], usage: CHAT_USAGE }),
    'data: [DONE]\n\n',
  ]
}

function message(content: readonly object[], outputTokens: number): object {
  return {
    id: 'msg_raw',
    type: 'message',
    role: 'assistant',
    model: 'raw',
    content,
    stop_reason: content.length === 0 ? null : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 2, output_tokens: outputTokens },
  }
}

function messageEvents(): string[] {
  const event = (type: string, members: object = {}): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
  return [
    event('message_start', { message: message([], 0) }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } }),
    event('message_stop'),
  ]
}
