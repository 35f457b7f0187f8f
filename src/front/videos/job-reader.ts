import { GatewayError } from '../../shared/core/errors.ts'
import { GrowingBody } from '../../shared/runtime/growing-body.ts'
import type { AuthStyle, Provider, Snapshot, UpstreamKey } from '../../shared/core/snapshot.ts'
import type { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import { readFailureBody } from '../../dialects/common/failure.ts'
import { redactUpstreamText } from '../../dialects/common/redact.ts'
import type { VideoCodec } from '../../dialects/videos/codec.ts'
import { videoCodec } from '../../dialects/videos/codecs.ts'
import type { VendorJob } from '../../dialects/videos/job.ts'
import { secretsOf } from '../upstream/credentials.ts'
import type { CallCredential, Credentials } from '../upstream/credentials.ts'
import type { UpstreamCall, UpstreamClient, UpstreamHeaders, UpstreamListener } from '../upstream/upstream-client.ts'
import { classifyStatus } from '../gateway/classify.ts'
import { baseOf, serviceBase } from '../gateway/upstream-address.ts'
import { buildUpstreamLook } from '../gateway/upstream-request.ts'
import type { VideoJob } from './job-seal.ts'
import { VideoFetch } from './video-fetch.ts'
import type { FetchParts } from './video-fetch.ts'

const MAX_ANSWER_BYTES = 262_144
const FIRST_BYTE_MS = 30_000
const KEY_REMOVED = 'the upstream key that created the job is no longer configured'

/** The result of a status request for a job: its state, or the error of the request. */
export type Look =
  | { readonly kind: 'seen'; readonly state: JobState; readonly source: string | null }
  | { readonly kind: 'unseen'; readonly error: GatewayError }

export interface JobState {
  readonly status: VendorJob['status']
  readonly progress: number | null
  /** Set when the job has failed. */
  readonly error: GatewayError | null
}

/** Requests the status and the video of jobs from their provider, with the upstream key that created them. */
export class JobReader {
  readonly #upstream: UpstreamClient
  readonly #credentials: Credentials
  readonly #reach: UpstreamReach
  #places = new Map<string, { readonly provider: Provider; readonly key: UpstreamKey }>()

  constructor(upstream: UpstreamClient, credentials: Credentials, reach: UpstreamReach) {
    this.#upstream = upstream
    this.#credentials = credentials
    this.#reach = reach
  }

  update(snapshot: Snapshot): void {
    this.#places = new Map(
      snapshot.providers.flatMap((provider) =>
        provider.keys.map((key) => [placeOf(provider.id, key.id), { provider, key }] as const),
      ),
    )
  }

  async look(job: VideoJob): Promise<Look> {
    const place = this.#placeOf(job)
    if (place === undefined) {
      return { kind: 'unseen', error: new GatewayError('UPSTREAM_NOT_FOUND', { detail: KEY_REMOVED }) }
    }
    const { provider, origin, base, codec } = place
    const path = codec.lookPath(base, job.vendorId)
    try {
      const credential = await this.#credentialAt(place)
      const request = buildUpstreamLook(provider, credential, { origin, path }, ['accept', 'application/json'])
      const timeouts = { ...request.timeouts, firstByteMs: Math.min(FIRST_BYTE_MS, request.timeouts.firstByteMs) }
      return await new Promise((resolve) => {
        const listener = new LookListener(provider, codec, resolve)
        listener.call = this.#upstream.send({ ...request, timeouts }, listener)
      })
    } catch (cause) {
      return { kind: 'unseen', error: GatewayError.from(cause) }
    }
  }

  /** Fetches the video. Throws UPSTREAM_NOT_FOUND when the upstream key is no longer configured. */
  fetch(job: VideoJob, range: string | undefined, listener: UpstreamListener): UpstreamCall {
    const place = this.#placeOf(job)
    if (place === undefined) throw new GatewayError('UPSTREAM_NOT_FOUND', { detail: KEY_REMOVED })
    const { provider, origin, base, codec } = place
    let credential: CallCredential | null = null
    const headers = ['accept', 'video/*', ...(range === undefined ? [] : ['range', range])]
    const known = codec.contentPath?.(base, job.vendorId)
    const parts: FetchParts = {
      origin,
      reach: this.#reach,
      find: async () => {
        credential = await this.#credentialAt(place)
        return known === undefined ? this.#sourceOf(job) : origin + known
      },
      send: (url, isProvider, hears) => {
        const address = { origin: url.origin, path: url.pathname + url.search }
        return this.#upstream.send(buildUpstreamLook(provider, isProvider ? credential : null, address, headers), hears)
      },
    }
    return new VideoFetch(parts, listener)
  }

  /** The provider's URL of the video. Rejects with VIDEO_NOT_FOUND when it has none. */
  async #sourceOf(job: VideoJob): Promise<string> {
    const look = await this.look(job)
    if (look.kind === 'unseen') throw look.error
    if (look.source === null) throw new GatewayError('VIDEO_NOT_FOUND')
    return look.source
  }

  #credentialAt({ provider, key, auth }: JobPlace): CallCredential | Promise<CallCredential> {
    return this.#credentials.of(key, auth, provider)
  }

  #placeOf(job: VideoJob): JobPlace | undefined {
    const found = this.#places.get(placeOf(job.providerId, job.upstreamKeyId))
    if (found === undefined) return undefined
    const { provider, key } = found
    const { origin, pathname } = baseOf(provider.baseUrl)
    const service = provider.services?.videos?.find(({ protocol }) => protocol === job.protocol)
    const auth = service?.auth ?? provider.auth
    return { provider, key, origin, base: serviceBase(service, pathname), auth, codec: videoCodec(job.protocol) }
  }
}

/** The address of a job's service, and the credential to use there. */
interface JobPlace {
  readonly provider: Provider
  readonly key: UpstreamKey
  readonly origin: string
  /** Path of the service's base URL. */
  readonly base: string
  readonly auth: AuthStyle
  readonly codec: VideoCodec
}

class LookListener implements UpstreamListener {
  call: UpstreamCall | null = null
  readonly #provider: Provider
  readonly #codec: VideoCodec
  readonly #resolve: (look: Look) => void
  readonly #body = new GrowingBody()
  #status = 0
  #headers: UpstreamHeaders = {}

  constructor(provider: Provider, codec: VideoCodec, resolve: (look: Look) => void) {
    this.#provider = provider
    this.#codec = codec
    this.#resolve = resolve
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onData(chunk: Buffer): void {
    this.#body.append(chunk)
    if (this.#body.length <= MAX_ANSWER_BYTES) return
    this.#body.clear()
    this.call?.abort()
    this.onError(
      new GatewayError('UPSTREAM_INVALID_ANSWER', { detail: `the answer is larger than ${MAX_ANSWER_BYTES} bytes` }),
    )
  }

  onEnd(): void {
    const body = this.#body.take()
    // Some providers answer 202 while a job runs.
    if (this.#status !== 200 && this.#status !== 202) {
      this.onError(classifyStatus(this.#status, this.#headers, readFailureBody(body), this.#redact))
      return
    }
    try {
      const job = this.#codec.parseLook(JSON.parse(body.toString('utf8')))
      const { status, progress, failure, isRefused, source } = job
      const message = this.#redact(failure?.message ?? '')
      const code = isRefused ? 'VIDEO_REFUSED' : 'VIDEO_FAILED'
      // The client sees the reason of a refusal, but not the provider's text about its own failure.
      const details = isRefused && message !== '' ? { message } : { detail: message }
      this.#resolve({
        kind: 'seen',
        state: { status, progress, error: failure === null ? null : new GatewayError(code, details) },
        source,
      })
    } catch (cause) {
      this.onError(new GatewayError('UPSTREAM_INVALID_ANSWER', { cause }))
    }
  }

  onError(error: GatewayError): void {
    this.#resolve({ kind: 'unseen', error })
  }

  readonly #redact = (text: string): string => redactUpstreamText(text, secretsOf(this.#provider))
}

function placeOf(providerId: string, keyId: string): string {
  return JSON.stringify([providerId, keyId])
}
