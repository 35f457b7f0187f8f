import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { dialectOf } from '../../src/dialects/codecs.ts'
import type { AnswerTranslation } from '../../src/dialects/translate.ts'
import type { Answer, AttemptControl } from '../../src/front/gateway/answer-receiver.ts'
import { StreamRelay } from '../../src/front/gateway/stream-relay.ts'
import { TranslatedStream } from '../../src/front/gateway/translated-stream.ts'
import { UwsResponder } from '../../src/front/server/responder.ts'
import type { HttpResponse } from '../../src/front/server/uws.ts'
import { Http1Client } from '../../src/front/upstream/http1/http1-client.ts'
import type { ConnectOptions } from '../../src/front/upstream/connector.ts'
import type {
  BodySink,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamListener,
  UpstreamRequest,
} from '../../src/front/upstream/upstream-client.ts'
import type { Exchange } from '../../src/shared/core/exchange.ts'
import type { RequestBody } from '../../src/shared/core/request-body.ts'
import { RequestContext } from '../../src/shared/core/request-context.ts'
import { ENDPOINTS } from '../../src/shared/endpoints/index.ts'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { DeadlineClock } from '../../src/shared/runtime/deadlines.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const WORDS = ['The', ' quick', ' brown', ' fox', ' jumps', ' over', ' the', ' lazy', ' dog', '.', ' It', ' barks']
const ESCAPED = WORDS.map((word) => `${word}\\n`)
const MESSAGES_OPENING =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}\n\n' +
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'

/** A kind of stream: its first events, and those that it repeats, one after the other, for ever. */
export interface Kind {
  readonly from: 'openai-chat' | 'anthropic-messages'
  readonly to: 'openai-chat' | 'anthropic-messages'
  readonly opening: string
  readonly events: readonly string[]
  /** Events in one read. */
  readonly together: number
}

const CHAT = {
  from: 'openai-chat',
  to: 'openai-chat',
  opening: chat('{"role":"assistant","content":""}'),
  events: WORDS.map((word) => chat(`{"content":"${word}"}`)),
  together: 1,
} as const

const MESSAGES = {
  from: 'anthropic-messages',
  to: 'anthropic-messages',
  opening: MESSAGES_OPENING,
  events: WORDS.map((word) => message(word)),
  together: 1,
} as const

/** The streams that a front relays, by name. */
export const KINDS: Readonly<Record<string, Kind>> = {
  chat: CHAT,
  'chat, four events in a read': { ...CHAT, together: 4 },
  'chat, escaped': { ...CHAT, events: ESCAPED.map((word) => chat(`{"content":"${word}"}`)) },
  'chat, tool calls': { ...CHAT, events: WORDS.map((word) => chat(toolDelta(word))) },
  messages: MESSAGES,
  'messages to chat': { ...MESSAGES, to: 'openai-chat' },
  'chat to messages': { ...CHAT, to: 'anthropic-messages' },
}

function chat(delta: string): string {
  return `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1764000000,"model":"sim-gpt","service_tier":"default","system_fingerprint":"fp_5f0c6c2e3a","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":null}],"usage":null}\n\n`
}

function toolDelta(piece: string): string {
  return `{"tool_calls":[{"index":0,"function":{"arguments":"${piece}"}}]}`
}

function message(text: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`
}

/**
 * Streams of one kind at the same time, from the bytes of the upstream's socket to the write downstream: all the JavaScript of an
 * event, without kernel and event loop.
 */
export class EventStreams {
  readonly #sockets: FakeSocket[] = []
  readonly #reads: readonly Buffer[]
  readonly #together: number
  #next = 0
  #written = 0

  constructor(kind: Kind, count: number) {
    const { events, together } = kind
    this.#together = together
    this.#reads = events.map((_, first) =>
      chunk(Array.from({ length: together }, (_none, more) => events[(first + more) % events.length] ?? '').join('')),
    )
    const deadlines = new DeadlineClock(systemClock)
    const client = new Http1Client({
      deadlines,
      maxConnections: count,
      connect: (options) => {
        const socket = new FakeSocket(options)
        this.#sockets.push(socket)
        return socket as unknown as Socket
      },
    })
    for (let stream = 0; stream < count; stream++) {
      const listener = new Listener(kind, deadlines, () => {
        this.#written++
      })
      listener.call = client.send(REQUEST, listener)
    }
    for (const socket of this.#sockets) {
      socket.emit('connect')
      socket.receive(Buffer.concat([Buffer.from(HEAD), chunk(kind.opening)]))
    }
  }

  /** Relays so many events, in turn over the streams. Throws when one was not written. */
  relay(events: number): void {
    const writes = this.#written
    const reads = Math.ceil(events / this.#together)
    for (let read = 0; read < reads; read++) {
      const socket = this.#sockets[this.#next % this.#sockets.length] as FakeSocket
      socket.receive(this.#reads[this.#next % this.#reads.length] as Buffer)
      this.#next++
    }
    if (this.#written - writes !== reads) throw new Error(`${reads} reads led to ${this.#written - writes} writes`)
  }
}

const REQUEST: UpstreamRequest = {
  origin: 'http://upstream.test',
  path: '/v1/chat/completions',
  method: 'POST',
  headers: [],
  body: null,
  timeouts: { connectMs: 1_000_000, firstByteMs: 1_000_000, idleMs: 1_000_000, totalMs: 1_000_000 },
}

const BODY: RequestBody = {
  bytes: Buffer.from('{}'),
  members: [],
  model: 'm',
  stream: true,
  wantsUsage: false,
  maxOutputTokens: null,
  choices: 1,
  namesServers: false,
  estimatedPromptTokens: 40,
  affinity: null,
  expected: null,
  tags: null,
}

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

/** As much of `net.Socket` as a connection uses. */
class FakeSocket extends EventEmitter {
  readonly destroyed = false
  readonly writableLength = 0
  readonly #buffer: Buffer
  readonly #callback: (length: number, buffer: Uint8Array) => boolean

  constructor({ onread }: ConnectOptions) {
    super()
    if (onread === undefined || !Buffer.isBuffer(onread.buffer)) throw new Error('the connection has no read buffer')
    this.#buffer = onread.buffer
    this.#callback = onread.callback
  }

  receive(bytes: Buffer): void {
    bytes.copy(this.#buffer)
    this.#callback(bytes.length, this.#buffer)
  }

  write(): boolean {
    return true
  }

  pause(): void {
    throw new Error('a stream was paused')
  }

  resume(): this {
    return this
  }

  destroy(): void {
    throw new Error('a connection was closed')
  }
}

/** An attempt without a slot. */
class Listener implements UpstreamListener, AttemptControl {
  call: UpstreamCall | null = null
  readonly #kind: Kind
  readonly #response: UwsResponder

  constructor(kind: Kind, deadlines: DeadlineClock, onWrite: () => void) {
    this.#kind = kind
    this.#response = new UwsResponder(fakeResponse(onWrite), {
      deadlines,
      headOnly: false,
      closeAfter: false,
      commonHeaders: [],
      onOver: () => undefined,
    })
  }

  onHead(status: number, headers: UpstreamHeaders): BodySink {
    const { from, to } = this.#kind
    const exchange = { request: { headers: {} }, response: this.#response } as unknown as Exchange
    const endpoint = to === 'openai-chat' ? ENDPOINTS.chat : ENDPOINTS.messages
    const translation: AnswerTranslation | null =
      from === to ? null : { client: to, upstream: from, restoration: null, options: OPTIONS }
    const answer: Answer = {
      ctx: new RequestContext('req_1', 1_000, 5_000, endpoint, exchange),
      body: BODY,
      dialect: dialectOf(to),
      translation,
      reading: null,
      status,
      headers,
      clock: systemClock,
      redact: (text) => text,
    }
    return translation === null ? new StreamRelay(answer, this) : new TranslatedStream(answer, translation, this)
  }

  onData(): void {
    throw new Error('a stream did not go to its sink')
  }

  progressed(): void {
    this.call?.progressed()
  }

  onEnd(): void {
    throw new Error('a stream ended')
  }

  onError(error: Error): void {
    throw error
  }

  failed(error: Error): void {
    throw error
  }

  broken(error: Error): void {
    throw error
  }

  served(): void {
    throw new Error('a stream was complete')
  }

  pause(): void {
    throw new Error('a stream was paused')
  }
}

const OPTIONS = { id: '1', model: 'm', created: 1_764_000_000, estimatedPromptTokens: 40, reasoningDetails: false }

/** As much of a response of uWebSockets.js as a streamed answer uses. */
function fakeResponse(onWrite: () => void): HttpResponse {
  const response = {
    cork: (write: () => void) => {
      write()
      return response
    },
    write: () => {
      onWrite()
      return true
    },
    writeStatus: () => response,
    writeHeader: () => response,
  }
  return response as unknown as HttpResponse
}
