import { GatewayError } from '../../core/errors.ts'
import type { Provider, Snapshot, UpstreamKey } from '../../core/snapshot.ts'
import { readJob } from '../../dialects/openai-videos/job.ts'
import type { VendorJob } from '../../dialects/openai-videos/job.ts'
import { readFailureBody } from '../../dialects/failure.ts'
import { redactUpstreamText } from '../../dialects/redact.ts'
import type { UpstreamCall, UpstreamClient, UpstreamHeaders, UpstreamListener } from '../../upstream/upstream-client.ts'
import { classifyStatus } from '../classify.ts'
import { buildUpstreamLook } from '../upstream-request.ts'
import type { VideoJob } from './job-seal.ts'

const MAX_ANSWER_BYTES = 262_144
const FIRST_BYTE_MS = 30_000

/** What a look at a job found: how it stands, or why that could not be seen this time. */
export type Look =
  { readonly kind: 'seen'; readonly state: JobState } | { readonly kind: 'unseen'; readonly error: GatewayError }

export interface JobState {
  readonly status: VendorJob['status']
  readonly progress: number | null
  /** Set when it has failed. */
  readonly error: GatewayError | null
}

/** Looks at jobs where they were begun, with the upstream key that began them. */
export class JobReader {
  readonly #upstream: UpstreamClient
  #places = new Map<string, { readonly provider: Provider; readonly key: UpstreamKey }>()

  constructor(upstream: UpstreamClient) {
    this.#upstream = upstream
  }

  update(snapshot: Snapshot): void {
    this.#places = new Map(
      snapshot.providers.flatMap((provider) =>
        provider.keys.map((key) => [placeOf(provider.id, key.id), { provider, key }] as const),
      ),
    )
  }

  look(job: VideoJob): Promise<Look> {
    return new Promise((resolve) => {
      const place = this.#placeOf(job)
      if (place === undefined) {
        resolve({ kind: 'unseen', error: new GatewayError('UPSTREAM_NOT_FOUND', { detail: 'the key is gone' }) })
        return
      }
      const { provider, key } = place
      const request = buildUpstreamLook(provider, key, pathOf(job), ['accept', 'application/json'])
      const timeouts = { ...request.timeouts, firstByteMs: Math.min(FIRST_BYTE_MS, request.timeouts.firstByteMs) }
      const listener = new LookListener(provider, resolve)
      listener.call = this.#upstream.send({ ...request, timeouts }, listener)
    })
  }

  /** Fetches the video itself. Throws UPSTREAM_NOT_FOUND when the upstream key is gone. */
  fetch(job: VideoJob, range: string | undefined, listener: UpstreamListener): UpstreamCall {
    const place = this.#placeOf(job)
    if (place === undefined) throw new GatewayError('UPSTREAM_NOT_FOUND', { detail: 'the key is gone' })
    const headers = ['accept', 'video/*', ...(range === undefined ? [] : ['range', range])]
    return this.#upstream.send(
      buildUpstreamLook(place.provider, place.key, `${pathOf(job)}/content`, headers),
      listener,
    )
  }

  #placeOf(job: VideoJob): { readonly provider: Provider; readonly key: UpstreamKey } | undefined {
    return this.#places.get(placeOf(job.providerId, job.upstreamKeyId))
  }
}

class LookListener implements UpstreamListener {
  call: UpstreamCall | null = null
  readonly #provider: Provider
  readonly #resolve: (look: Look) => void
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0
  #headers: UpstreamHeaders = {}

  constructor(provider: Provider, resolve: (look: Look) => void) {
    this.#provider = provider
    this.#resolve = resolve
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#chunks.push(Buffer.from(chunk))
    if (this.#bytes <= MAX_ANSWER_BYTES) return
    this.#chunks.length = 0
    this.call?.abort()
    this.onError(new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: 'too large' }))
  }

  onEnd(): void {
    const body = Buffer.concat(this.#chunks)
    // Some providers tell with the status whether a job is done.
    if (this.#status !== 200 && this.#status !== 202) {
      this.onError(classifyStatus(this.#status, this.#headers, readFailureBody(body), this.#redact))
      return
    }
    try {
      const { status, progress, failure, isRefused } = readJob(body)
      const message = this.#redact(failure?.message ?? '')
      const code = isRefused ? 'VIDEO_REFUSED' : 'VIDEO_FAILED'
      // Why a provider failed is its own affair; why it refuses is the client's.
      const details = isRefused && message !== '' ? { message } : { detail: message }
      this.#resolve({
        kind: 'seen',
        state: { status, progress, error: failure === null ? null : new GatewayError(code, details) },
      })
    } catch (cause) {
      this.onError(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause }))
    }
  }

  onError(error: GatewayError): void {
    this.#resolve({ kind: 'unseen', error })
  }

  readonly #redact = (text: string): string => {
    const { baseUrl, keys } = this.#provider
    return redactUpstreamText(text, [new URL(baseUrl).host, ...keys.map(({ credential }) => credential)])
  }
}

function placeOf(providerId: string, keyId: string): string {
  return JSON.stringify([providerId, keyId])
}

function pathOf(job: VideoJob): string {
  return `/videos/${encodeURIComponent(job.vendorId)}`
}
