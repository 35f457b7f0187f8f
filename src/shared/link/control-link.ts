import { chmodSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { AiAnswer, AiRequest } from '../core/ai-request.ts'
import type { LeaseFarewell, LeaseRequest, LeaseResume } from '../core/allowance.ts'
import { GrowingBody } from '../runtime/growing-body.ts'
import type { CacheShare } from '../core/health.ts'
import type { CaptureBatch, CaptureReply } from '../core/capture.ts'
import type { ClaimMessage, ClaimReply, JobOver } from '../core/job-claim.ts'
import type { KeyHealthEvent } from '../core/key-health-event.ts'
import { GatewayError } from '../core/errors.ts'
import type { MetricReport } from '../telemetry/metrics.ts'
import { FrameDecoder, createFrameEncoder } from '../wire/link-frames.ts'
import { AiCaller } from './ai-caller.ts'
import type { ControlToFront, FrontToControl, TunnelRequest } from './messages.ts'
import { CREDIT_BYTES } from './messages.ts'

/** A management request as the control process serves it. */
export interface ManagementRequest extends Omit<TunnelRequest, 'type' | 'id'> {
  readonly body: Buffer
  /** Aborted when the client left. */
  readonly signal: AbortSignal
}

export interface ManagementResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly body: Buffer | AsyncIterable<Buffer>
}

export interface ControlLinkOptions {
  readonly socketPath: string
  readonly maxBodyBytes: number
  readonly onFault: (cause: unknown) => void
}

/** Takes what fronts say. */
export interface ControlLinkReceiver {
  /** Returns the messages for a front that connects. */
  readonly greet: () => readonly ControlToFront[]
  /** Sends the changes of the store that the fronts do not have. Resolves when all are sent. */
  readonly refreshSnapshot: () => Promise<void>
  readonly serve: (request: ManagementRequest) => Promise<ManagementResponse>
  readonly onUsage: (share: CacheShare) => void
  /** A front has learned something about an upstream key; the other fronts have been told. */
  readonly onKeyHealthEvent: (event: KeyHealthEvent) => void
  /** The authority's side of the conversation about leases. A front is named by its connection. */
  readonly leases: {
    resume(front: string, message: LeaseResume): void
    farewell(message: LeaseFarewell): void
    exchange(front: string, message: LeaseRequest): void
    gone(front: string): void
  }
  /** The messages of fronts about jobs; `reply` answers one. */
  readonly jobs?: {
    receive(message: ClaimMessage, reply: (reply: ClaimReply) => void): void
    over(message: JobOver): void
  }
  /** Takes captured bodies; `reply` answers a batch. */
  readonly captures?: { receive(batch: CaptureBatch, reply: (reply: CaptureReply) => void): void }
  /** `front` is the name that the process gives itself; `connection` names its connection, here and in `onGone`. */
  readonly onMetrics?: (front: string, connection: string, report: MetricReport) => void
  /** The connection is gone. */
  readonly onGone?: (connection: string) => void
}

const FRAME_BYTES = 65_536

/** The control process's end of the channel: greets fronts, sends them changes, serves their management requests. */
export class ControlLink {
  readonly #options: ControlLinkOptions
  readonly #fronts = new Map<string, FrontConnection>()
  #connections = 0
  #server: Server | null = null
  readonly #encode = createFrameEncoder()

  constructor(options: ControlLinkOptions) {
    this.#options = options
  }

  /** Fronts that are connected. */
  get fronts(): number {
    return this.#fronts.size
  }

  /** Resolves when fronts can connect. */
  listen(receiver: ControlLinkReceiver): Promise<void> {
    const { socketPath, onFault } = this.#options
    const server = createServer((socket) => {
      this.#accept(socket, receiver)
    })
    this.#server = server
    rmSync(socketPath, { force: true })
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(socketPath, () => {
        server.off('error', reject)
        server.on('error', onFault)
        chmodSync(socketPath, 0o600)
        resolve()
      })
    })
  }

  #accept(socket: Socket, receiver: ControlLinkReceiver): void {
    this.#connections += 1
    const name = `front-connection-${this.#connections}`
    const front = new FrontConnection(name, socket, { ...this.#options, ...receiver }, (event) => {
      receiver.onKeyHealthEvent(event)
      for (const other of this.#fronts.values()) if (other !== front) other.send({ type: 'key-news', news: event })
    })
    this.#fronts.set(name, front)
    socket.on('close', () => {
      this.#fronts.delete(name)
      receiver.leases.gone(name)
      receiver.onGone?.(name)
    })
  }

  /** Encoded once, sent to all. */
  broadcast(message: ControlToFront): void {
    const frame = this.#encode(message)
    for (const front of this.#fronts.values()) front.sendFrame(frame)
  }

  /** Sends to one front, named as in `leases`. Does nothing when it is gone. */
  send(front: string, message: ControlToFront): void {
    this.#fronts.get(front)?.send(message)
  }

  /** Has the front with the fewest of these requests serve an AI request. Rejects with CONTROL_UNAVAILABLE without a front. */
  requestAi(request: AiRequest, signal: AbortSignal): Promise<AiAnswer> {
    const callers = [...this.#fronts.values()].map(({ aiCaller }) => aiCaller)
    const [first, ...others] = callers
    if (first === undefined) {
      const message = 'No front process is there to serve the request.'
      return Promise.reject(new GatewayError('CONTROL_UNAVAILABLE', { message, retryAfterSeconds: 1 }))
    }
    const idlest = others.reduce((best, one) => (one.inFlight < best.inFlight ? one : best), first)
    return idlest.request(request, signal)
  }

  /** Sends nothing more. Fronts read what was sent before, and close the channel. */
  close(): void {
    this.#server?.close()
    for (const front of this.#fronts.values()) front.close()
  }
}

interface Passage {
  readonly abort: AbortController
  readonly body: GrowingBody
  credit: number
  wake: (() => void) | null
}

class FrontConnection {
  readonly aiCaller = new AiCaller((message) => {
    this.send(message)
  })
  readonly #name: string
  readonly #onKeyHealthEvent: (news: KeyHealthEvent) => void
  /** The name that the process gives itself; null before its `hello`. */
  #front: string | null = null
  readonly #socket: Socket
  readonly #options: ControlLinkOptions & ControlLinkReceiver
  readonly #encode = createFrameEncoder()
  readonly #decoder = new FrameDecoder()
  readonly #passages = new Map<number, Passage & { readonly request: TunnelRequest }>()
  /** Nothing more is sent. Fronts repeat to the next control process what arrives now, except a farewell. */
  #isClosing = false

  constructor(
    name: string,
    socket: Socket,
    options: ControlLinkOptions & ControlLinkReceiver,
    onKeyHealthEvent: (news: KeyHealthEvent) => void,
  ) {
    this.#name = name
    this.#onKeyHealthEvent = onKeyHealthEvent
    this.#socket = socket
    this.#options = options
    socket.on('data', (chunk) => {
      try {
        this.#decoder.push(chunk, (value) => {
          this.#receive(value as FrontToControl)
        })
      } catch (cause) {
        socket.destroy(cause as Error)
      }
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      for (const passage of this.#passages.values()) abandon(passage)
      this.#passages.clear()
      this.aiCaller.lost()
    })
  }

  sendFrame(frame: Buffer): void {
    this.#socket.write(frame)
  }

  close(): void {
    this.#isClosing = true
    this.#socket.end()
  }

  send(message: ControlToFront): void {
    this.#socket.write(this.#encode(message))
  }

  #receive(message: FrontToControl): void {
    if (this.#isClosing && message.type !== 'lease-farewell') return
    switch (message.type) {
      case 'hello':
        this.#front = message.front
        for (const greeting of this.#options.greet()) this.send(greeting)
        return
      case 'key-news':
        this.#onKeyHealthEvent(message.news)
        return
      case 'lease-resume':
        this.#options.leases.resume(this.#name, message)
        return
      case 'lease-farewell':
        this.#options.leases.farewell(message)
        return
      case 'lease-request':
        this.#options.leases.exchange(this.#name, message)
        return
      case 'job-claim':
        this.#options.jobs?.receive(message, (reply) => {
          this.send(reply)
        })
        return
      case 'job-over':
        this.#options.jobs?.over(message)
        return
      case 'captures':
        this.#options.captures?.receive(message, (reply) => {
          this.send(reply)
        })
        return
      case 'snapshot-inquiry':
        void this.#refresh(message.id)
        return
      case 'usage':
        this.#options.onUsage(message)
        return
      case 'ai-response':
      case 'ai-body':
      case 'ai-broken':
        this.aiCaller.receive(message)
        return
      case 'metrics':
        if (this.#front !== null) this.#options.onMetrics?.(this.#front, this.#name, message.report)
        return
      case 'request':
        this.#passages.set(message.id, {
          request: message,
          abort: new AbortController(),
          body: new GrowingBody(),
          credit: CREDIT_BYTES,
          wake: null,
        })
        return
      case 'body':
        this.#takeBody(message.id, message.bytes, message.last)
        return
      case 'credit': {
        const passage = this.#passages.get(message.id)
        if (passage === undefined) return
        passage.credit += message.bytes
        passage.wake?.()
        return
      }
      case 'cancel': {
        const passage = this.#passages.get(message.id)
        if (passage === undefined) return
        this.#passages.delete(message.id)
        abandon(passage)
      }
    }
  }

  async #refresh(id: number): Promise<void> {
    const isCurrent = await this.#options.refreshSnapshot().then(
      () => true,
      () => false,
    )
    this.send({ type: 'snapshot-inquiry-reply', id, isCurrent })
  }

  #takeBody(id: number, bytes: Uint8Array, last: boolean): void {
    const passage = this.#passages.get(id)
    if (passage === undefined) return
    if (passage.body.length + bytes.byteLength > this.#options.maxBodyBytes) {
      this.send({ type: 'cancel', id })
      this.#passages.delete(id)
      return
    }
    passage.body.append(bytes)
    if (!last) {
      this.send({ type: 'credit', id, bytes: bytes.byteLength })
      return
    }
    const { type, id: passageId, ...request } = passage.request
    this.#answer(id, passage, { ...request, body: passage.body.take(), signal: passage.abort.signal }).catch(
      (cause: unknown) => {
        this.#options.onFault(cause)
        if (this.#passages.delete(id)) this.send({ type: 'cancel', id })
      },
    )
  }

  async #answer(id: number, passage: Passage, request: ManagementRequest): Promise<void> {
    const response = await this.#options.serve(request)
    if (!this.#passages.has(id)) return
    this.send({ type: 'response', id, status: response.status, headers: response.headers })
    const chunks = Buffer.isBuffer(response.body) ? [response.body] : response.body
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
        const bytes = chunk.subarray(at, at + FRAME_BYTES)
        while (passage.credit <= 0 && !passage.abort.signal.aborted) {
          await new Promise<void>((resolve) => (passage.wake = resolve))
        }
        if (passage.abort.signal.aborted) return
        passage.credit -= bytes.length
        this.send({ type: 'body', id, bytes, last: false })
      }
    }
    this.#passages.delete(id)
    this.send({ type: 'body', id, bytes: new Uint8Array(0), last: true })
  }
}

function abandon(passage: Passage): void {
  passage.abort.abort()
  passage.wake?.()
}
