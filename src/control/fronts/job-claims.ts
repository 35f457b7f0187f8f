import type { ClaimMessage, ClaimReply, JobOver } from '../../shared/core/job-claim.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import type { Database } from '../store/database.ts'
import { claimVideoJob, endVideoJob, forgetVideoJobs, releaseVideoJob, setVideoJob } from '../store/video-jobs.ts'

const FORGET_EVERY_MS = 3_600_000

/** Stores which requests have begun a job, for the fronts of all nodes. A failed write is reported and logged, not retried. */
export class JobClaims {
  readonly #database: Database
  readonly #onFault: (cause: unknown) => void
  readonly #timer: NodeJS.Timeout

  constructor(database: Database, onFault: (cause: unknown) => void) {
    this.#database = database
    this.#onFault = onFault
    const forget = (): void => {
      forgetVideoJobs(database).catch(onFault)
    }
    this.#timer = repeat(FORGET_EVERY_MS, forget, onFault)
  }

  receive(message: ClaimMessage, reply: (reply: ClaimReply) => void): void {
    this.#act(message).then(reply, (cause: unknown) => {
      this.#onFault(cause)
      reply({ type: 'job-claim-reply', question: message.question, claim: null })
    })
  }

  over({ job, errorCode }: JobOver): void {
    endVideoJob(this.#database, job, errorCode).catch(this.#onFault)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #act(message: ClaimMessage): Promise<ClaimReply> {
    const { question, action, job } = message
    const answer = { type: 'job-claim-reply', question } as const
    switch (action) {
      case 'claim':
        return { ...answer, claim: await claimVideoJob(this.#database, message) }
      case 'begun':
        await setVideoJob(this.#database, message, job)
        break
      case 'doubt':
        await setVideoJob(this.#database, message, null)
        break
      case 'release':
        await releaseVideoJob(this.#database, message)
    }
    return { ...answer, claim: null }
  }
}
