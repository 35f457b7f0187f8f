import type { RedisAddress } from '../../shared/config/shape.ts'
import type { RedisClient } from './redis-client.ts'
import { createRedisClient } from './redis-client.ts'
import type { RedisScript } from './redis-script.ts'

const CALL_TIMEOUT_MS = 100
const READY_TIMEOUT_MS = 1_000
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 1_000

export interface RedisCall {
  readonly script: RedisScript
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

export interface RedisConnectionOptions {
  readonly address: RedisAddress
  readonly channels: readonly string[]
  readonly onMessage: (channel: string, message: string) => void
  readonly onError: (error: Error) => void
}

/**
 * A connection that never blocks its callers: it queues nothing while it is down, and resends nothing after it broke. Every call has
 * a deadline of 100 ms, and a connection that misses one is cut and replaced. A second connection listens to the channels; messages
 * may be missed.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions
  readonly #commands: ReplacedClient
  readonly #listener: ReplacedClient | null

  constructor(options: RedisConnectionOptions) {
    this.#options = options
    const { channels, onMessage } = options
    this.#commands = new ReplacedClient(options, () => undefined)
    this.#listener =
      channels.length === 0
        ? null
        : new ReplacedClient(options, (client) => {
            client.on('message', onMessage)
            client.subscribe(...channels).catch(options.onError)
          })
  }

  /**
   * Runs scripts, in one round trip when one server has all of them. Returns a result or an error for each script; after an error,
   * it is unknown whether the script has run. Never rejects.
   */
  async run(calls: readonly RedisCall[]): Promise<readonly unknown[]> {
    const client = this.#commands.ready
    if (client === null) return calls.map(() => new Error('there is no connection to Redis'))
    const answers = await this.#within(client, evaluate(client, calls, 'evalsha'), calls.length)
    const unknown = calls.filter((_, at) => isError(answers[at], 'NOSCRIPT'))
    if (unknown.length > 0) {
      const again = await this.#within(client, evaluate(client, unknown, 'eval'), unknown.length)
      const byCall = new Map(unknown.map((call, at) => [call, again[at]]))
      return calls.map((call, at) => (byCall.has(call) ? byCall.get(call) : answers[at]))
    }
    // The master has become a replica: the next connection finds the new master.
    if (answers.some((answer) => isError(answer, 'READONLY'))) this.#commands.cut(client)
    return answers
  }

  /** Resolves to the milliseconds of one round trip. Rejects at once while there is no connection, and after 100 ms in any case. */
  async ping(): Promise<number> {
    const client = this.#commands.ready
    if (client === null) throw new Error('there is no connection to Redis')
    const startMs = performance.now()
    const [answer] = await this.#within(client, Promise.all([client.ping()]), 1)
    if (answer instanceof Error) throw answer
    return performance.now() - startMs
  }

  close(): void {
    this.#commands.close()
    this.#listener?.close()
  }

  async #within(client: RedisClient, work: Promise<readonly unknown[]>, count: number): Promise<readonly unknown[]> {
    let timer: NodeJS.Timeout | undefined
    let check: NodeJS.Immediate | undefined
    const late = new Promise<Error>((resolve) => {
      timer = setTimeout(() => {
        // When this process itself was blocked, the answers may already be in its sockets: read these first.
        check = setImmediate(() => {
          check = setImmediate(() => {
            resolve(new Error(`no answer from Redis within ${CALL_TIMEOUT_MS} ms`))
          })
        })
      }, CALL_TIMEOUT_MS)
    })
    try {
      const answers = await Promise.race([work, late])
      if (!(answers instanceof Error)) return answers
      work.catch(() => undefined)
      this.#commands.cut(client)
      this.#options.onError(answers)
      return Array.from({ length: count }, () => answers)
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      return Array.from({ length: count }, () => error)
    } finally {
      clearTimeout(timer)
      if (check !== undefined) clearImmediate(check)
    }
  }
}

/** Holds one client at a time: cuts a broken client at once and replaces it after a back-off. */
class ReplacedClient {
  readonly #options: RedisConnectionOptions
  readonly #onReady: (client: RedisClient) => void
  #client: RedisClient
  #isReady = false
  #timer: NodeJS.Timeout | undefined
  #retryMs = FIRST_RETRY_MS
  #closed = false

  constructor(options: RedisConnectionOptions, onReady: (client: RedisClient) => void) {
    this.#options = options
    this.#onReady = onReady
    this.#client = this.#open()
  }

  get ready(): RedisClient | null {
    return this.#isReady ? this.#client : null
  }

  /** Discards `client`, unless it was discarded already. */
  cut(client: RedisClient): void {
    if (client !== this.#client || this.#closed) return
    this.#isReady = false
    clearTimeout(this.#timer)
    discard(client)
    this.#timer = setTimeout(() => {
      this.#client = this.#open()
    }, this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS)
  }

  close(): void {
    this.#closed = true
    this.#isReady = false
    clearTimeout(this.#timer)
    discard(this.#client)
  }

  #open(): RedisClient {
    const client = createRedisClient(this.#options.address)
    client.on('error', this.#options.onError)
    client.on('ready', () => {
      if (client !== this.#client || this.#closed) return
      clearTimeout(this.#timer)
      this.#retryMs = FIRST_RETRY_MS
      this.#isReady = true
      this.#onReady(client)
    })
    client.on('end', () => {
      this.cut(client)
    })
    this.#timer = setTimeout(() => {
      this.cut(client)
    }, READY_TIMEOUT_MS)
    return client
  }
}

function discard(client: RedisClient): void {
  client.removeAllListeners()
  client.on('error', () => undefined)
  client.disconnect()
}

async function evaluate(
  client: RedisClient,
  calls: readonly RedisCall[],
  command: 'evalsha' | 'eval',
): Promise<readonly unknown[]> {
  const argumentsOf = ({ script, keys, args }: RedisCall): [string, number, ...string[]] => [
    command === 'eval' ? script.source : script.sha1,
    keys.length,
    ...keys,
    ...args,
  ]
  if (client.isCluster) {
    // The calls are written in the same turn of the event loop: each master gets its part at once.
    return Promise.all(calls.map((call) => client[command](...argumentsOf(call)).catch((cause: unknown) => cause)))
  }
  const pipeline = client.pipeline()
  for (const call of calls) pipeline[command](...argumentsOf(call))
  const results = await pipeline.exec()
  return (results ?? []).map(([error, result]) => error ?? result)
}

function isError(answer: unknown, code: string): boolean {
  return answer instanceof Error && answer.message.startsWith(code)
}
