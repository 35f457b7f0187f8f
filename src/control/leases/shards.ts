import { createHash } from 'node:crypto'
import type { RedisCall } from '../store/redis-connection.ts'
import { SCRIPTS } from './script-runner.ts'

/** Allowances are spread over so many hash tags, and with them over the masters of a cluster. */
const BUCKETS = 64

/** What is known of the buckets: whether Redis still has what was written to them. */
export class Shards {
  readonly #prefix: string
  readonly #epochs: string[] = []
  /** When each closed last, by Redis's clock. */
  readonly #closed: string[] = []
  #opensAtMs = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(allowance: string): number {
    let hash = 2_166_136_261
    for (let i = 0; i < allowance.length; i++) hash = Math.imul(hash ^ allowance.charCodeAt(i), 16_777_619)
    return (hash >>> 0) % BUCKETS
  }

  keysOf(allowance: string): readonly [account: string, bucket: string] {
    const bucket = this.of(allowance)
    return [`${this.#tag(bucket)}:${allowance}`, this.#tag(bucket)]
  }

  epochOf(bucket: number): string {
    return this.#epochs[bucket] ?? ''
  }

  /** Latest moment of Redis's clock at which one of them begins to serve. */
  get opensAtMs(): number {
    return this.#opensAtMs
  }

  /** @param hasTold the fronts of this machine have said what they did before each closing that is known */
  touches(nowArgument: string, freshEpoch: string, node: string, hasTold: boolean): RedisCall[] {
    return Array.from({ length: BUCKETS }, (_, bucket) => ({
      script: SCRIPTS.touch,
      keys: [this.#tag(bucket)],
      args: [nowArgument, freshEpoch, node, hasTold ? (this.#closed[bucket] ?? '') : ''],
    }))
  }

  /** Takes in the answers to `touches`; tells which buckets had been lost. */
  learn(answers: readonly unknown[]): { readonly lost: ReadonlySet<number>; readonly redisNowMs: number } {
    const lost = new Set<number>()
    let redisNowMs = 0
    this.#opensAtMs = 0
    for (const [bucket, answer] of answers.entries()) {
      const [epoch = '', opensAt, now, closed = ''] = String(answer).split(' ')
      if (this.#epochs[bucket] !== epoch) lost.add(bucket)
      this.#epochs[bucket] = epoch
      this.#closed[bucket] = closed
      this.#opensAtMs = Math.max(this.#opensAtMs, Number(opensAt))
      redisNowMs = Math.max(redisNowMs, Number(now))
    }
    return { lost, redisNowMs }
  }

  /** One name for the epochs of all: the same for everybody who knows the same. */
  get epoch(): string {
    return createHash('sha256').update(this.#epochs.join(' ')).digest('base64url').slice(0, 22)
  }

  #tag(bucket: number): string {
    return `${this.#prefix}:{${bucket}}`
  }
}
