import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import { Deadline } from '../../shared/runtime/deadlines.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { JobReader, JobState, Look } from './job-reader.ts'
import type { VideoJob } from './job-seal.ts'

export interface WatchOptions {
  readonly reader: Pick<JobReader, 'look'>
  readonly deadlines: DeadlineClock
  readonly random: () => number
  readonly firstMs: number
  readonly maxMs: number
  /** A job that is not over by then is not looked at any more. */
  readonly giveUpMs: number
  /** Each job is told once how it ended. */
  readonly onOver: (id: string, state: JobState) => void
}

/** Null: it is not over, and will not be looked at any more; `error` is what was in the way, if anything was. */
export type Ending = { readonly state: JobState | null; readonly error: GatewayError | null }

const GROWTH = 1.5
const JITTER = 0.2
/** Right after its creation a job may not be known everywhere; after so many looks it is gone. */
const MAX_UNKNOWN = 5

interface Watched {
  readonly id: string
  readonly job: VideoJob
  readonly deadline: Deadline
  readonly untilMs: number
  readonly listeners: Set<(ending: Ending) => void>
  intervalMs: number
  lastError: GatewayError | null
  /** Looks one after the other that did not find it. */
  unknown: number
}

/**
 * Looks at jobs under way at growing intervals, as long as they run, also when their clients have gone: however many wait for
 * one job, it is looked at once. All share the timer of the deadlines.
 */
export class JobWatch {
  readonly #options: WatchOptions
  readonly #jobs = new Map<string, Watched>()

  constructor(options: WatchOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#jobs.size
  }

  /** Tells once how the job ended. @returns stops listening */
  watch(id: string, job: VideoJob, listener: (ending: Ending) => void): () => void {
    let watched = this.#jobs.get(id)
    if (watched === undefined) {
      watched = this.#begin(id, job)
      this.#jobs.set(id, watched)
    }
    const { listeners } = watched
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }

  stop(): void {
    for (const watched of this.#jobs.values()) this.#options.deadlines.forget(watched.deadline)
    this.#jobs.clear()
  }

  #begin(id: string, job: VideoJob): Watched {
    const { deadlines, firstMs, giveUpMs } = this.#options
    const watched: Watched = {
      id,
      job,
      deadline: new Deadline(() => {
        this.#look(watched)
      }),
      untilMs: deadlines.nowMs + giveUpMs,
      listeners: new Set(),
      intervalMs: firstMs,
      lastError: null,
      unknown: 0,
    }
    this.#schedule(watched, firstMs)
    return watched
  }

  #schedule(watched: Watched, inMs: number): void {
    const { deadlines, random } = this.#options
    const jittered = inMs * (1 + JITTER * (random() - 0.5))
    watched.deadline.atMs = Math.min(deadlines.nowMs + jittered, watched.untilMs)
    deadlines.watch(watched.deadline)
  }

  #look(watched: Watched): void {
    this.#options.reader.look(watched.job).then(
      (look) => {
        this.#seen(watched, look)
      },
      () => {
        this.#goOn(watched, 0)
      },
    )
  }

  #seen(watched: Watched, look: Look): void {
    if (look.kind === 'unseen') {
      // A look that fails says nothing about the job.
      watched.lastError = look.error
      watched.unknown = look.error.code === 'UPSTREAM_NOT_FOUND' ? watched.unknown + 1 : 0
      if (watched.unknown >= MAX_UNKNOWN) {
        const error = new GatewayError('VIDEO_FAILED', { detail: 'the provider does not know the job' })
        this.#end(watched, { state: { status: 'failed', progress: null, error }, error: null })
      } else this.#goOn(watched, (look.error.retryAfterSeconds ?? 0) * 1000)
      return
    }
    watched.lastError = null
    watched.unknown = 0
    const { status } = look.state
    if (status === 'completed' || status === 'failed') this.#end(watched, { state: look.state, error: null })
    else this.#goOn(watched, 0)
  }

  #goOn(watched: Watched, leastMs: number): void {
    const { deadlines, maxMs } = this.#options
    if (this.#jobs.get(watched.id) !== watched) return
    if (deadlines.nowMs >= watched.untilMs) {
      this.#end(watched, { state: null, error: watched.lastError })
      return
    }
    watched.intervalMs = Math.min(maxMs, watched.intervalMs * GROWTH)
    this.#schedule(watched, Math.max(watched.intervalMs, leastMs))
  }

  #end(watched: Watched, ending: Ending): void {
    if (this.#jobs.get(watched.id) !== watched) return
    this.#jobs.delete(watched.id)
    this.#options.deadlines.forget(watched.deadline)
    if (ending.state !== null) this.#options.onOver(watched.id, ending.state)
    for (const listener of watched.listeners) listener(ending)
  }
}
