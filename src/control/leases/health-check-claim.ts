import type { Clock } from '../../shared/runtime/clock.ts'
import { redisScript } from '../store/redis-script.ts'
import type { ScriptRunner } from './script-runner.ts'

/** KEYS: the claim. ARGV: node, lifetime in milliseconds. Answers 1 when the node has the claim. */
const CLAIM = redisScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`)

const LIFETIME_MS = 10_000
/** The answer of Redis holds this long, so a holder renews its claims long before they end. */
const ASK_EVERY_MS = 2_000

export interface HealthCheckClaimOptions {
  readonly runner: ScriptRunner
  readonly prefix: string
  readonly node: string
  readonly clock: Clock
}

/**
 * Of the gateways on one Redis that check an upstream, one makes the checks. It keeps the claim as long as it asks, between checks too.
 * Without an answer of Redis, each makes its own.
 */
export class HealthCheckClaim {
  readonly #options: HealthCheckClaimOptions
  #asked: readonly string[] = []
  #held: ReadonlySet<string> = new Set()
  #askAtMs = 0

  constructor(options: HealthCheckClaimOptions) {
    this.#options = options
  }

  /** Returns those of the upstreams that this gateway checks. */
  async take(upstreams: readonly string[]): Promise<ReadonlySet<string>> {
    const { runner, prefix, node, clock } = this.#options
    const nowMs = clock.now()
    if (nowMs < this.#askAtMs && upstreams.every((id) => this.#asked.includes(id))) return this.#held
    const args = [node, String(LIFETIME_MS)]
    const calls = upstreams.map((id) => ({ script: CLAIM, keys: [`${prefix}:{health-checks}:${id}`], args }))
    const answers = await runner.run(calls)
    this.#held = new Set(upstreams.filter((_, at) => answers[at] instanceof Error || answers[at] === 1))
    this.#asked = upstreams
    this.#askAtMs = nowMs + ASK_EVERY_MS
    return this.#held
  }
}
