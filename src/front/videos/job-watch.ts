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
  /** A job that is not over after this time is not polled any more. */
  readonly giveUpMs: number
  /** Called once for each job, when it has ended. */
  readonly onOver: (id: string, state: JobState) => void
}

/**
 * The end of a watch. `state` is null when the job is not over but not polled any more. Then `error` is the error of the last poll, if
 * it failed.
 */
export type Ending = { readonly state: JobState | null; readonly error: GatewayError | null }

const GROWTH = 1.5
const JITTER = 0.2
/** A provider may not know a new job at once. After so many polls in a row without finding it, the job has failed. */
const MAX_UNKNOWN = 5

interface Watched {
  readonly id: string
  readonly job: VideoJob
  readonly deadline: Deadline
  readonly untilMs: number
  readonly listeners: Set<(ending: Ending) => void>
  intervalMs: number
  lastError: GatewayError | null
  /** The number of polls in a row that did not find the job. */
  unknown: number
}

/**
 * Polls running jobs at growing intervals, also after their clients have left. All clients of a job share its polls, and all jobs
 * share the timer of the deadlines.
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

  /** Calls `listener` once, when the job has ended. @returns a function that removes the listener */
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
        this.#pollAgain(watched, 0)
      },
    )
  }

  #seen(watched: Watched, look: Look): void {
    if (look.kind === 'unseen') {
      // A failed poll says nothing about the job.
      watched.lastError = look.error
      watched.unknown = look.error.code === 'UPSTREAM_NOT_FOUND' ? watched.unknown + 1 : 0
      if (watched.unknown >= MAX_UNKNOWN) {
        const error = new GatewayError('VIDEO_FAILED', { detail: 'the provider does not know the job' })
        this.#end(watched, { state: { status: 'failed', progress: null, error }, error: null })
      } else this.#pollAgain(watched, (look.error.retryAfterSeconds ?? 0) * 1000)
      return
    }
    watched.lastError = null
    watched.unknown = 0
    const { status } = look.state
    if (status === 'completed' || status === 'failed') this.#end(watched, { state: look.state, error: null })
    else this.#pollAgain(watched, 0)
  }

  #pollAgain(watched: Watched, leastMs: number): void {
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
