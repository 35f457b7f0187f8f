import type { Redis } from 'ioredis'
import type { RedisCall } from '../../src/control/store/redis-connection.ts'

export interface LaneAnswers {
  readonly answers: readonly unknown[]
  /** Messages that the scripts would have published. */
  readonly pokes: ReadonlyArray<{ readonly allowance: string; readonly holder: string }>
}

/** Runs the scripts of the Redis authority in a real Redis, at a given simulated time. A script takes no simulated time. */
export class LeaseLane {
  readonly #redis: Redis
  readonly #loaded = new Set<string>()
  /** Number of scripts that have run. */
  calls = 0

  constructor(redis: Redis) {
    this.#redis = redis
  }

  async run(calls: readonly RedisCall[], nowMs: number): Promise<LaneAnswers> {
    this.calls += calls.length
    for (const { script } of calls) {
      if (this.#loaded.has(script.sha1)) continue
      this.#loaded.add(script.sha1)
      await this.#redis.script('LOAD', script.source)
    }
    const pipeline = this.#redis.pipeline()
    for (const { script, keys, args } of calls) {
      pipeline.evalsha(script.sha1, keys.length, ...keys, String(Math.floor(nowMs)), ...args.slice(1))
    }
    const results = (await pipeline.exec()) ?? []
    const answers = results.map(([error, result]) => {
      if (error !== null) throw error
      return result
    })
    const pokes = answers.flatMap((answer, at) => {
      const allowance = calls[at]?.keys[0]?.replace(/^[^:]*:[^:]*:/, '') ?? ''
      return Array.isArray(answer) ? answer.slice(1).map((holder) => ({ allowance, holder: String(holder) })) : []
    })
    return { answers, pokes }
  }
}
