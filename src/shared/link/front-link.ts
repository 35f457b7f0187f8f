import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { LeaseEpoch, LeaseFarewell, LeaseReply, LeaseRequest, LeaseResume } from '../core/allowance.ts'
import type { CaptureBatch, CaptureReply } from '../core/capture.ts'
import type { ClaimMessage, ClaimReply, JobOver } from '../core/job-claim.ts'
import type { DeadlineClock } from '../runtime/deadlines.ts'
import type { Snapshot } from '../core/snapshot.ts'
import type { KeyHealthEvent } from '../core/key-health-event.ts'
import type { CacheShare, StoreHealth } from '../core/health.ts'
import type { MetricReport } from '../telemetry/metrics.ts'
import { FrameDecoder, createFrameEncoder } from '../wire/link-frames.ts'
import { AiRequests } from './ai-requests.ts'
import type { ControlToFront, FrontToControl } from './messages.ts'
import { SnapshotInquiries } from './snapshot-inquiries.ts'
import { Tunnel } from './tunnel.ts'

export interface FrontLinkOptions {
  readonly socketPath: string
  readonly front: string
  readonly deadlines: DeadlineClock
}

/** Takes what the control process says. */
export interface FrontLinkReceiver {
  readonly onSnapshot: (snapshot: Snapshot) => void
  readonly onHealth: (health: StoreHealth & { readonly cacheShare: CacheShare }) => void
  /** What another front has learned about an upstream key. */
  readonly onKeyHealthEvent: (event: KeyHealthEvent) => void
  /** The front's side of the conversation about leases. */
  readonly leases: {
    greeted(epoch: LeaseEpoch): void
    receive(reply: LeaseReply): void
    /** The control process is gone. */
    unlinked(): void
    /** The control process is there, the authority is not. */
    lost(): void
    /** The control process is about to end, and another one comes. */
    handingOver(): void
    setHolders(holders: number): void
  }
  /** The front's side of the conversation about jobs. */
  readonly jobs?: {
    receive(reply: ClaimReply): void
    lost(): void
  }
  /** The front's side of the conversation about captured bodies. */
  readonly captures?: {
    linked(): void
    receive(reply: CaptureReply): void
    lost(): void
  }
}

const FIRST_RETRY_MS = 20
/** While a gateway hands over, limits wait for all fronts to be connected again. */
const LAST_RETRY_MS = 100
const CLOSE_MS = 2_000

/** A front's end of the channel to the control process. It reconnects by itself, for ever; the front works without it. */
export class FrontLink {
  readonly tunnel: Tunnel
  readonly aiRequests: AiRequests
  readonly inquiries: SnapshotInquiries
  readonly #options: FrontLinkOptions
  readonly #encode = createFrameEncoder()
  #socket: Socket | null = null
  #retryMs = FIRST_RETRY_MS
  #retry: NodeJS.Timeout | null = null
  #wasConnected = false
  #stopped = false

  constructor(options: FrontLinkOptions) {
    this.#options = options
    this.tunnel = new Tunnel((message) => this.#send(message), options.deadlines)
    this.aiRequests = new AiRequests((reply) => this.#send(reply))
    this.inquiries = new SnapshotInquiries((message) => this.#send(message), options.deadlines)
  }

  /** Connects, now and whenever the connection breaks. */
  start(receiver: FrontLinkReceiver): void {
    this.#connect(receiver)
  }

  #connect(receiver: FrontLinkReceiver): void {
    const socket = connect(this.#options.socketPath)
    const decoder = new FrameDecoder()
    socket.on('connect', () => {
      if (this.#stopped) {
        socket.destroy()
        return
      }
      this.#socket = socket
      this.#wasConnected = true
      this.#retryMs = FIRST_RETRY_MS
      this.#send({ type: 'hello', front: this.#options.front, pid: process.pid })
      this.tunnel.found()
      receiver.captures?.linked()
    })
    socket.on('data', (chunk) => {
      try {
        decoder.push(chunk, (value) => {
          this.#receive(value as ControlToFront, receiver)
        })
      } catch (cause) {
        socket.destroy(cause as Error)
      }
    })
    // 'close' follows and handles it.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#socket = null
      this.tunnel.lost()
      this.aiRequests.lost()
      this.inquiries.lost()
      receiver.leases.unlinked()
      receiver.jobs?.lost()
      receiver.captures?.lost()
      if (this.#stopped) return
      this.#retry = setTimeout(() => {
        this.#connect(receiver)
      }, this.#retryMs)
      // Before the first connection, the control process is about to start.
      if (this.#wasConnected) this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS)
    })
  }

  /** False when there is no connection: the message is lost. */
  sendLease(message: LeaseRequest | LeaseResume | LeaseFarewell): boolean {
    return this.#send(message)
  }

  /** False when there is no connection: the message is lost. */
  sendJob(message: ClaimMessage | JobOver): boolean {
    return this.#send(message)
  }

  /** False when there is no connection: the batch is not sent. */
  sendCaptures(batch: CaptureBatch): boolean {
    return this.#send(batch)
  }

  /** Sends the event to the other fronts. */
  announce(news: KeyHealthEvent): void {
    this.#send({ type: 'key-news', news })
  }

  reportUsage(share: CacheShare): void {
    this.#send({ type: 'usage', ...share })
  }

  get connected(): boolean {
    return this.#socket !== null
  }

  reportMetrics(report: MetricReport): void {
    this.#send({ type: 'metrics', report })
  }

  /**
   * Sends nothing more. Resolves when the control process has read everything that was sent and has closed the channel, or after
   * {@link CLOSE_MS}. If this end closed at once, a write of the control process could fail before it has read the last messages.
   */
  stop(): Promise<void> {
    this.#stopped = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    const socket = this.#socket
    this.#socket = null
    if (socket === null) return Promise.resolve()
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        socket.destroy()
      }, CLOSE_MS)
      socket.once('close', () => {
        clearTimeout(late)
        resolve()
      })
      socket.end()
    })
  }

  #receive(message: ControlToFront, receiver: FrontLinkReceiver): void {
    switch (message.type) {
      case 'snapshot':
        receiver.onSnapshot(message.snapshot)
        return
      case 'health':
        receiver.onHealth(message)
        return
      case 'lease-epoch':
        receiver.leases.greeted(message)
        return
      case 'lease-away':
        receiver.leases.lost()
        return
      case 'lease-hand-over':
        receiver.leases.handingOver()
        return
      case 'lease-terms':
        receiver.leases.setHolders(message.holders)
        return
      case 'lease-reply':
        receiver.leases.receive(message)
        return
      case 'snapshot-inquiry-reply':
        this.inquiries.receive(message)
        return
      case 'job-claim-reply':
        receiver.jobs?.receive(message)
        return
      case 'captures-reply':
        receiver.captures?.receive(message)
        return
      case 'key-news':
        receiver.onKeyHealthEvent(message.news)
        return
      case 'ai-request':
      case 'ai-credit':
      case 'ai-report':
      case 'ai-cancel':
        this.aiRequests.receive(message)
        return
      default:
        this.tunnel.receive(message)
    }
  }

  /** @returns false when there is no connection; the message is gone then */
  #send(message: FrontToControl): boolean {
    if (this.#socket === null) return false
    this.#socket.write(this.#encode(message))
    return true
  }
}
