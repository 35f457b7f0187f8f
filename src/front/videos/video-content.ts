import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Exchange, HeaderList } from '../../shared/core/exchange.ts'
import type { UpstreamCall, UpstreamHeaders, UpstreamListener } from '../upstream/upstream-client.ts'
import type { JobReader } from './job-reader.ts'
import type { JobSeal } from './job-seal.ts'
import { VIDEO_PATH } from './videos.ts'

export interface VideoContentParts {
  readonly clock: Clock
  readonly seal: JobSeal
  readonly reader: Pick<JobReader, 'fetch'>
  /** The most concurrent streams. */
  readonly maxStreams: number
}

const FORWARDED = ['content-range', 'accept-ranges', 'last-modified'] as const

/** Serves videos to holders of a valid signed link. The provider's own links need its key, or reveal the provider. */
export class VideoContent {
  readonly #parts: VideoContentParts
  #streams = 0

  constructor(parts: VideoContentParts) {
    this.#parts = parts
  }

  /** Calls `refuse` with VIDEO_NOT_FOUND for an invalid or expired link, and with GATEWAY_OVERLOADED above `maxStreams`. */
  serve(exchange: Exchange, refuse: (error: GatewayError) => void): void {
    const { seal, clock, reader, maxStreams } = this.#parts
    const { path, query, headers } = exchange.request
    const id = path.slice(path.indexOf(VIDEO_PATH) + VIDEO_PATH.length, path.lastIndexOf('/'))
    const parameters = new URLSearchParams(query)
    const expires = Number(parameters.get('expires') ?? Number.NaN)
    const isGood = seal.isSigned(id, expires, parameters.get('signature') ?? '') && expires * 1000 > clock.now()
    const job = isGood ? seal.open(id) : null
    if (job === null) {
      refuse(new GatewayError('VIDEO_NOT_FOUND'))
      return
    }
    if (this.#streams >= maxStreams) {
      refuse(new GatewayError('GATEWAY_OVERLOADED', { retryAfterSeconds: 1 }))
      return
    }
    const stream = new ContentStream(exchange, refuse, () => {
      this.#streams -= 1
    })
    this.#streams += 1
    try {
      stream.begin(reader.fetch(job, headers['range'], stream))
    } catch (cause) {
      stream.onError(GatewayError.from(cause))
    }
  }
}

/** Relays the bytes of a video, with backpressure. */
class ContentStream implements UpstreamListener {
  readonly #exchange: Exchange
  readonly #refuse: (error: GatewayError) => void
  readonly #onOver: () => void
  #call: UpstreamCall | null = null
  #isStreaming = false
  #isOver = false

  constructor(exchange: Exchange, refuse: (error: GatewayError) => void, onOver: () => void) {
    this.#exchange = exchange
    this.#refuse = refuse
    this.#onOver = onOver
  }

  begin(call: UpstreamCall): void {
    this.#call = call
    const { response } = this.#exchange
    response.onDrain(() => {
      call.resume()
    })
    response.onAbort(() => {
      call.abort()
      this.#over()
    })
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (status !== 200 && status !== 206) {
      this.#call?.abort()
      this.onError(new GatewayError(status === 404 || status === 410 ? 'VIDEO_NOT_FOUND' : 'UPSTREAM_ERROR'))
      return
    }
    this.#isStreaming = true
    const { response, request } = this.#exchange
    response.start(status, contentHeaders(headers))
    if (request.method !== 'HEAD') return
    this.#call?.abort()
    response.end()
    this.#over()
  }

  onData(chunk: Buffer): void {
    const { response } = this.#exchange
    if (!this.#isOver && !response.write(chunk) && !response.aborted) this.#call?.pause()
  }

  onEnd(): void {
    if (this.#isOver) return
    this.#exchange.response.end()
    this.#over()
  }

  onError(error: GatewayError): void {
    if (this.#isOver) return
    // An incomplete video must not look complete.
    if (this.#isStreaming) this.#exchange.response.destroy()
    else this.#refuse(error)
    this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onOver()
  }
}

function contentHeaders(upstream: UpstreamHeaders): HeaderList {
  const type = upstream['content-type']
  const isVideo = typeof type === 'string' && /^video\/[\w.+-]+$/i.test(type)
  const headers: Array<HeaderList[number]> = [
    // A provider's content, served under the gateway's name, must not run in a browser.
    ['Content-Type', isVideo ? type : 'application/octet-stream'],
    ['X-Content-Type-Options', 'nosniff'],
    ['Cache-Control', 'private, no-store'],
  ]
  for (const name of FORWARDED) {
    const value = upstream[name]
    if (typeof value === 'string') headers.push([name, value])
  }
  return headers
}
