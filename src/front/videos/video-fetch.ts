import { GatewayError } from '../../shared/core/errors.ts'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import type { UpstreamCall, UpstreamHeaders, UpstreamListener } from '../upstream/upstream-client.ts'

const REDIRECTS = new Set([301, 302, 303, 307, 308])
const MAX_HOPS = 5

export interface FetchParts {
  /** The origin of the provider: the only one that gets its credential. */
  readonly origin: string
  /** Bounds all other origins: a provider must not make the gateway call hosts in the gateway's own network. */
  readonly reach: UpstreamReach
  /** Finds the address of the video; rejects when there is none. */
  readonly find: () => Promise<string>
  readonly send: (url: URL, isProvider: boolean, listener: UpstreamListener) => UpstreamCall
}

/** Fetches a video from the address that its provider names, and follows redirects, as one call. */
export class VideoFetch implements UpstreamCall, UpstreamListener {
  readonly #parts: FetchParts
  readonly #listener: UpstreamListener
  #call: UpstreamCall | null = null
  #url: URL | null = null
  #hops = 0
  #isPaused = false
  #isOver = false

  constructor(parts: FetchParts, listener: UpstreamListener) {
    this.#parts = parts
    this.#listener = listener
    parts.find().then(
      (address) => {
        this.#fetchFrom(address)
      },
      (cause: unknown) => {
        this.onError(GatewayError.from(cause))
      },
    )
  }

  pause(): void {
    this.#isPaused = true
    this.#call?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#call?.resume()
  }

  progressed(): void {
    this.#call?.progressed()
  }

  abort(): void {
    this.#isOver = true
    this.#call?.abort()
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    const { location } = headers
    if (!REDIRECTS.has(status) || typeof location !== 'string') {
      this.#listener.onHead(status, headers)
      return
    }
    this.#call?.abort()
    this.#fetchFrom(location)
  }

  onData(chunk: Buffer): void {
    this.#listener.onData(chunk)
  }

  onEnd(): void {
    this.#listener.onEnd()
  }

  onError(error: GatewayError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#listener.onError(error)
  }

  #fetchFrom(address: string): void {
    if (this.#isOver) return
    const url = parse(address, this.#url)
    const isProvider = url?.origin === this.#parts.origin
    if (url === null || this.#hops === MAX_HOPS || !(isProvider || this.#isAllowed(url))) {
      this.onError(
        new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'the address of the video is invalid or not allowed' }),
      )
      return
    }
    this.#hops += 1
    this.#url = url
    this.#call = this.#parts.send(url, isProvider, this)
    if (this.#isPaused) this.#call.pause()
  }

  #isAllowed(url: URL): boolean {
    const { reach } = this.#parts
    return reach.refusalOf(url) === null && (url.port === '' || reach.isListed(url.hostname))
  }
}

function parse(address: string, base: URL | null): URL | null {
  try {
    return new URL(address, base ?? undefined)
  } catch {
    return null
  }
}
