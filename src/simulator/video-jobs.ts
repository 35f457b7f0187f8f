import type { Behaviour } from './behaviour.ts'
import type { PlainAnswer, PlainRequest } from './plain-request.ts'
import { jsonAnswer } from './plain-request.ts'
import { BadRequest } from './prompt.ts'

interface Job {
  readonly id: string
  readonly credential: string
  readonly model: string
  readonly size: string
  readonly seconds: string
  readonly createdAtMs: number
  readonly doneAtMs: number
  readonly outcome: 'completed' | 'failed' | 'moderated'
  readonly expires: boolean
  readonly bytes: number
  pollsLeft: number
}

const MAX_JOBS = 10_000
const DEFAULT_BYTES = 2_048
const SIZES = ['720x1280', '1280x720', '1024x1792', '1792x1024']
const SECONDS = ['4', '8', '12']

/** The video jobs of a provider. Only the credential that created a job can see it. */
export class VideoJobs {
  readonly #jobs = new Map<string, Job>()
  #created = 0

  /** Number of jobs since the last reset. */
  get created(): number {
    return this.#created
  }

  clear(): void {
    this.#jobs.clear()
    this.#created = 0
  }

  /** Creates a job. Throws BadRequest for a request that the provider would refuse. */
  create(request: PlainRequest, credential: string, behaviour: Behaviour, id: string): PlainAnswer {
    const { video = {} } = behaviour
    const size = choice(request.body['size'], 'size', SIZES)
    const seconds = choice(request.body['seconds'], 'seconds', SECONDS)
    const nowMs = Date.now()
    const job: Job = {
      id: `video_${id}`,
      credential,
      model: behaviour.modelOverride ?? request.model,
      size,
      seconds,
      createdAtMs: nowMs,
      doneAtMs: nowMs + (video.pendingMs ?? 0),
      outcome: video.outcome ?? 'completed',
      expires: video.expired ?? false,
      bytes: video.bytes ?? DEFAULT_BYTES,
      pollsLeft: video.pendingPolls ?? 0,
    }
    const [oldest] = this.#jobs.keys()
    if (this.#jobs.size >= MAX_JOBS && oldest !== undefined) this.#jobs.delete(oldest)
    this.#jobs.set(job.id, job)
    this.#created++
    return jsonAnswer(describe(job, 'queued'), request.promptTokens)
  }

  /** Polls a job. Throws BadRequest 404 when another credential created it. */
  poll(id: string, credential: string): PlainAnswer {
    const job = this.#find(id, credential)
    if (job.pollsLeft > 0) {
      job.pollsLeft--
      return jsonAnswer(describe(job, 'in_progress'))
    }
    return jsonAnswer(describe(job, Date.now() < job.doneAtMs ? 'in_progress' : statusOf(job)))
  }

  content(id: string, credential: string): PlainAnswer {
    return contentOf(id, this.#find(id, credential))
  }

  /** The video for any credential. */
  open(id: string): PlainAnswer {
    return contentOf(id, this.#jobs.get(id) ?? null)
  }

  #find(id: string, credential: string): Job {
    const job = this.#jobs.get(id)
    if (job?.credential !== credential) throw new BadRequest(`Video ${id} not found.`, null, 'not_found', 404)
    return job
  }
}

function contentOf(id: string, job: Job | null): PlainAnswer {
  if (job === null) throw new BadRequest(`Video ${id} not found.`, null, 'not_found', 404)
  if (job.outcome !== 'completed' || job.pollsLeft > 0 || Date.now() < job.doneAtMs || job.expires) {
    throw new BadRequest('Video content is not available.', null, 'not_found', 404)
  }
  return { body: videoBytes(job.bytes), contentType: 'video/mp4', promptTokens: 0, completionTokens: 0 }
}

/** Deterministic bytes for a length, so that tests can compare. */
export function videoBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8)) & 0xff
  bytes.write('\0\0\0\x18ftypmp42', 0, 'latin1')
  return bytes
}

function choice(value: unknown, name: string, allowed: readonly string[]): string {
  if (value === undefined || value === null) return allowed[0] ?? ''
  if (typeof value === 'string' && allowed.includes(value)) return value
  throw new BadRequest(
    `Invalid value: ${JSON.stringify(value)}. Supported values are: ${allowed.map((one) => `'${one}'`).join(', ')}.`,
    name,
    'invalid_value',
  )
}

function statusOf(job: Job): 'completed' | 'failed' {
  return job.outcome === 'completed' ? 'completed' : 'failed'
}

function describe(job: Job, status: 'queued' | 'in_progress' | 'completed' | 'failed'): string {
  const { id, model, size, seconds, createdAtMs } = job
  return JSON.stringify({
    id,
    object: 'video',
    model,
    status,
    progress: status === 'completed' ? 100 : status === 'in_progress' ? 40 : 0,
    created_at: Math.floor(createdAtMs / 1000),
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    expires_at: status === 'completed' ? Math.floor(Date.now() / 1000) + (job.expires ? -1 : 3600) : null,
    size,
    seconds,
    quality: 'standard',
    error: status === 'failed' ? failureOf(job) : null,
  })
}

function failureOf({ outcome }: Job): object {
  return outcome === 'moderated'
    ? { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' }
    : { code: 'video_generation_failed', message: 'The video could not be generated.' }
}
