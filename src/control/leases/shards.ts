import { createHash } from 'node:crypto'
import type { RedisCall } from '../store/redis-connection.ts'
import { SCRIPTS } from './script-runner.ts'

/** Allowances are spread over so many hash tags, and with them over the masters of a cluster. */
const SHARDS = 64

/** Knows of each shard whether Redis still has the values that were written to it. */
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
    return (hash >>> 0) % SHARDS
  }

  keysOf(allowance: string): readonly [account: string, shard: string] {
    const shard = this.of(allowance)
    return [`${this.#tag(shard)}:${allowance}`, this.#tag(shard)]
  }

  epochOf(shard: number): string {
    return this.#epochs[shard] ?? ''
  }

  /** Latest moment of Redis's clock at which one of them begins to serve. */
  get opensAtMs(): number {
    return this.#opensAtMs
  }

  /** @param hasTold the fronts of this machine have said what they did before each closing that is known */
  touches(nowArgument: string, freshEpoch: string, node: string, hasTold: boolean): RedisCall[] {
    return Array.from({ length: SHARDS }, (_, shard) => ({
      script: SCRIPTS.touch,
      keys: [this.#tag(shard)],
      args: [nowArgument, freshEpoch, node, hasTold ? (this.#closed[shard] ?? '') : ''],
    }))
  }

  /** Takes in the answers to `touches`; tells which shards had been lost. */
  learn(answers: readonly unknown[]): { readonly lost: ReadonlySet<number>; readonly redisNowMs: number } {
    const lost = new Set<number>()
    let redisNowMs = 0
    this.#opensAtMs = 0
    for (const [shard, answer] of answers.entries()) {
      const [epoch = '', opensAt, now, closed = ''] = String(answer).split(' ')
      if (this.#epochs[shard] !== epoch) lost.add(shard)
      this.#epochs[shard] = epoch
      this.#closed[shard] = closed
      this.#opensAtMs = Math.max(this.#opensAtMs, Number(opensAt))
      redisNowMs = Math.max(redisNowMs, Number(now))
    }
    return { lost, redisNowMs }
  }

  /** One name for the epochs of all: the same for everybody who knows the same. */
  get epoch(): string {
    return createHash('sha256').update(this.#epochs.join(' ')).digest('base64url').slice(0, 22)
  }

  #tag(shard: number): string {
    return `${this.#prefix}:{${shard}}`
  }
}
