import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { randomBytes } from 'node:crypto'
import { parseBehaviour, type Behaviour } from './behaviour.ts'
import { Behaviours } from './behaviours.ts'
import { answerControl, type ControlTarget, type SimulatorStats } from './control.ts'
import { Exchange } from './exchange.ts'
import type { RequestHead } from './http-head.ts'
import { HttpConnection, type RequestHandler } from './http-connection.ts'
import { Ledger } from './ledger.ts'
import { Pacer } from './pacer.ts'
import type { RecordedAnswer } from './recorded.ts'
import { Reply } from './reply.ts'
import { RequestLog, type LoggedRequest } from './request-log.ts'
import { responseHead } from './response-head.ts'
import { credentialOf, routeOf } from './routes.ts'
import { readSubject } from './subject.ts'
import { VideoJobs } from './video-jobs.ts'

export interface SimulatorOptions {
  /** 0, the default: any free port. */
  readonly port?: number
  readonly host?: string
  readonly defaults?: Partial<Behaviour>
}

export interface Simulator {
  readonly port: number
  /** `http://127.0.0.1:<port>`; provider paths are below it, with or without `/v1`. */
  readonly origin: string
  readonly ledger: Ledger
  /** Replaces the behaviour of a credential and restarts its turns (`failTimes`, `flap`). */
  configureKey(credential: string, behaviour: Partial<Behaviour>): void
  setDefaults(behaviour: Partial<Behaviour>): void
  /** Queues behaviours; each of the next requests takes one. */
  script(behaviours: readonly Partial<Behaviour>[]): void
  record(answer: RecordedAnswer): void
  /** The last thousand requests as they arrived, those with `n` greater than `since`. */
  requests(since?: number): LoggedRequest[]
  stats(): SimulatorStats
  /** Restores the state of the start: the options stay; counts, keys, script and recorded answers are cleared. */
  reset(): void
  /** Closes all connections and frees the port. */
  close(): Promise<void>
}

const WRITE_BUFFER_BYTES = 64 * 1024
const LOOP_DELAY_RESOLUTION_MS = 10

/** Starts a simulator. Rejects when it cannot listen on the port, or when `defaults` is no behaviour. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const host = options.host ?? '127.0.0.1'
  const running = new RunningSimulator(parseBehaviour(options.defaults ?? {}))
  await running.listen(options.port ?? 0, host)
  return running
}

class RunningSimulator implements Simulator, ControlTarget, RequestHandler<Exchange> {
  readonly ledger = new Ledger()
  readonly #behaviours: Behaviours
  readonly #log = new RequestLog()
  readonly #pacer = new Pacer()
  readonly #videos = new VideoJobs()
  readonly #recorded = new Map<string, RecordedAnswer>()
  readonly #connections = new Set<HttpConnection<Exchange>>()
  readonly #server: Server
  readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS })
  readonly #idPrefix = randomBytes(6).toString('hex')
  #ids = 0
  #accepted = 0
  #redirectsFollowed = 0
  port = 0
  origin = ''

  constructor(defaults: Behaviour) {
    this.#behaviours = new Behaviours(defaults)
    const buffer = { highWaterMark: WRITE_BUFFER_BYTES, allowHalfOpen: true, noDelay: true }
    this.#server = createServer(buffer, (socket) => {
      this.#accept(socket)
    })
  }

  listen(port: number, host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, 4096, () => {
        this.#server.off('error', reject)
        this.port = (this.#server.address() as AddressInfo).port
        const name = host.includes(':') ? `[${host}]` : host
        this.origin = `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : name}:${this.port}`
        this.#loopDelay.enable()
        resolve()
      })
    })
  }

  close(): Promise<void> {
    this.#pacer.close()
    this.#loopDelay.disable()
    return new Promise((resolve) => {
      this.#server.close(() => {
        resolve()
      })
      for (const connection of this.#connections) connection.destroy()
    })
  }

  configureKey(credential: string, behaviour: Partial<Behaviour>): void {
    this.#behaviours.configureKey(credential, parseBehaviour(behaviour))
  }

  setDefaults(behaviour: Partial<Behaviour>): void {
    this.#behaviours.setDefaults(parseBehaviour(behaviour))
  }

  script(behaviours: readonly Partial<Behaviour>[]): void {
    this.#behaviours.script(behaviours.map(parseBehaviour))
  }

  record(answer: RecordedAnswer): void {
    this.#recorded.set(answer.id, answer)
  }

  requests(since = 0): LoggedRequest[] {
    return this.#log.list(since)
  }

  stats(): SimulatorStats {
    const delay = (ns: number): number => Math.max(0, Math.round(ns / 1e4) / 100 - LOOP_DELAY_RESOLUTION_MS)
    return {
      ...this.ledger.totals,
      keys: Object.fromEntries(this.ledger.credentials.map((name) => [name, this.ledger.of(name)])),
      connections: { open: this.#connections.size, accepted: this.#accepted },
      redirectsFollowed: this.#redirectsFollowed,
      videosCreated: this.#videos.created,
      loopDelayMs: { p99: delay(this.#loopDelay.percentile(99)), max: delay(this.#loopDelay.max) },
    }
  }

  reset(): void {
    this.ledger.reset()
    this.#log.clear()
    this.#behaviours.reset()
    this.#recorded.clear()
    this.#videos.clear()
    this.#redirectsFollowed = 0
    this.#accepted = 0
    this.#loopDelay.reset()
  }

  onHead(connection: HttpConnection<Exchange>, head: RequestHead): void {
    const route = routeOf(head)
    if (route.kind === 'control') return
    const credential = credentialOf(head, route)
    const record = this.ledger.begin(credential, head.path)
    const logEntry = {
      n: record.n,
      method: head.method,
      path: head.path,
      query: head.query,
      headers: head.headers,
      credential,
      startedAt: record.startedAt,
      bodyAt: null,
      firstByteAt: null,
      endedAt: null,
      status: 0,
      body: EMPTY,
      bodyBytes: 0,
      bodyDigest: null,
    }
    this.#log.add(logEntry)
    const exchange = new Exchange({ connection, head, ledger: this.ledger, pacer: this.#pacer, record, logEntry })
    connection.context = exchange
    // `accept-close` is the only fault that does not wait for the body. When it is known now, it cuts the upload.
    if (!this.#behaviours.cutsAtHead(credential)) return
    exchange.behaviour = this.#behaviours.take(credential, null)
    record.fault = 'accept-close'
    exchange.cut()
  }

  onRequest(connection: HttpConnection<Exchange>, head: RequestHead, body: Buffer): void {
    const route = routeOf(head)
    const exchange = connection.context
    if (exchange === null) {
      this.#answerControl(connection, head, body)
      return
    }
    this.#log.setBody(exchange.logEntry, body)
    const id = this.#nextId()
    const { subject, behaviour } = readSubject({
      route,
      head,
      body,
      id,
      record: exchange.record,
      behaviours: this.#behaviours,
      recorded: this.#recorded,
      videos: this.#videos,
      redirectTo: `${this.origin}/__sim/redirected`,
    })
    exchange.behaviour = behaviour
    new Reply(exchange, subject).start()
  }

  onPeerClosed(connection: HttpConnection<Exchange>): void {
    connection.context?.peerClosed()
  }

  onDrain(connection: HttpConnection<Exchange>): void {
    const exchange = connection.context
    if (exchange === null || !exchange.waitsForDrain) return
    exchange.waitsForDrain = false
    // The next turn, not now: a peer that reads as fast as the simulator writes would block the event loop.
    this.#pacer.nextTurn(exchange)
  }

  onClose(connection: HttpConnection<Exchange>): void {
    this.#connections.delete(connection)
  }

  #accept(socket: Socket): void {
    this.#accepted++
    this.#connections.add(new HttpConnection(socket, this))
  }

  #answerControl(connection: HttpConnection<Exchange>, head: RequestHead, body: Buffer): void {
    if (head.path.endsWith('/__sim/redirected')) this.#redirectsFollowed++
    const answer = answerControl(this, head, body)
    const text = responseHead({
      status: answer.status,
      contentType: 'application/json',
      framing: Buffer.byteLength(answer.body),
      keepAlive: head.keepAlive,
      lines: '',
      overrides: undefined,
    })
    connection.write(head.method === 'HEAD' ? text : text + answer.body)
    connection.finish(true)
  }

  /** An id that is unique over all runs of simulators. */
  #nextId(): string {
    return this.#idPrefix + (this.#ids++).toString(36).padStart(8, '0')
  }
}

const EMPTY = Buffer.alloc(0)
