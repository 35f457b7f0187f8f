import type { RedisCall } from '../store/redis-connection.ts'
import { redisScript } from '../store/redis-script.ts'
import { BEAT_SCRIPT, BUDGET_SCRIPT, EXCHANGE_SCRIPT, TOUCH_SCRIPT } from './redis-scripts.ts'

export const SCRIPTS = {
  exchange: redisScript(EXCHANGE_SCRIPT),
  touch: redisScript(TOUCH_SCRIPT),
  beat: redisScript(BEAT_SCRIPT),
  budget: redisScript(BUDGET_SCRIPT),
}

/**
 * Runs scripts in Redis, those of one batch in one round trip. Answers each call with what the script returned, or with the error
 * that says that nobody knows whether it has run; does so within a bounded time, and never rejects.
 */
export interface ScriptRunner {
  run(calls: readonly RedisCall[]): Promise<readonly unknown[]>
}
