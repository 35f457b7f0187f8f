import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Replicas of a model server for each policy that is compared. Each has a queue and a cache of prompt blocks. */
export const REPLICAS = 4
/** Blocks that the cache of a replica holds. */
const CACHE_BLOCKS = 2_000
/** A body tells at its beginning which request of the trace it is; the replica knows its blocks. */
const REQUEST_NUMBER = /"user":"turn-(\d+)"/
const BEGINNING_BYTES = 256
const KEEP_ALIVE_MS = 120_000

const CHUNK = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-replica',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench-replica',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`
const ANSWER = `${CHUNK({ role: 'assistant', content: 'yes' }, null)}${CHUNK({}, 'stop')}`

/** The counts of the replicas of one policy. */
export interface ReplicaTally {
  readonly hits: number
  readonly blocks: number
  /** Requests by replica. */
  readonly requests: readonly number[]
}

class Replica {
  readonly #blockMs: () => number
  readonly #cache = new Set<number>()
  #freeAtMs = 0
  hits = 0
  blocks = 0
  requests = 0

  constructor(blockMs: () => number) {
    this.#blockMs = blockMs
  }

  /** Takes a prompt; returns the milliseconds until it has been read: the queue, and the blocks that are not cached. */
  take(prompt: readonly number[]): number {
    const firstNew = prompt.findIndex((block) => !this.#cache.has(block))
    const hits = firstNew === -1 ? prompt.length : firstNew
    for (const block of prompt) {
      this.#cache.delete(block)
      this.#cache.add(block)
    }
    for (const block of this.#cache) {
      if (this.#cache.size <= CACHE_BLOCKS) break
      this.#cache.delete(block)
    }
    this.hits += hits
    this.blocks += prompt.length
    this.requests += 1
    const nowMs = performance.now()
    this.#freeAtMs = Math.max(nowMs, this.#freeAtMs) + (prompt.length - hits) * this.#blockMs()
    return this.#freeAtMs - nowMs
  }
}

/** Model servers that read one prompt at a time and keep its blocks. Without a gateway they serve the policies that it is compared with. */
export class Replicas {
  readonly baseUrl: string
  readonly #close: () => void
  readonly #replicas = new Map<string, Replica>()
  #prompts: ReadonlyArray<readonly number[]> = []
  #blockMs = 1

  private constructor(baseUrl: string, close: () => void) {
    this.baseUrl = baseUrl
    this.#close = close
  }

  static async start(): Promise<Replicas> {
    let replicas: Replicas | null = null
    const server = createServer((request, response) => replicas?.answer(request, response))
    // A connection that closes while a request is on its way would fail it.
    server.keepAliveTimeout = KEEP_ALIVE_MS
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    replicas = new Replicas(`http://127.0.0.1:${port}/v1`, () => {
      server.close()
      server.closeAllConnections()
    })
    return replicas
  }

  close(): void {
    this.#close()
  }

  credentialsOf(policy: string): readonly string[] {
    return Array.from({ length: REPLICAS }, (_, index) => `${policy}-${index}`)
  }

  /** Empties all caches. @param prompts the blocks of each request @param blockMs the time to read a block */
  prepare(prompts: ReadonlyArray<readonly number[]>, blockMs: number): void {
    this.#prompts = prompts
    this.#blockMs = blockMs
    this.#replicas.clear()
  }

  tallyOf(policy: string): ReplicaTally {
    const all = this.credentialsOf(policy).map((credential) => this.#replica(credential))
    return {
      hits: all.reduce((sum, { hits }) => sum + hits, 0),
      blocks: all.reduce((sum, { blocks }) => sum + blocks, 0),
      requests: all.map(({ requests }) => requests),
    }
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const credential = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    let beginning = ''
    request.on('error', () => undefined)
    request.on('data', (chunk: Buffer) => {
      if (beginning.length < BEGINNING_BYTES) beginning += chunk.toString('latin1', 0, BEGINNING_BYTES)
    })
    request.on('end', () => {
      const number = Number(REQUEST_NUMBER.exec(beginning)?.[1] ?? NaN)
      const prompt = this.#prompts[number]
      if (prompt === undefined) {
        response.writeHead(400).end()
        return
      }
      const waitMs = this.#replica(credential).take(prompt)
      setTimeout(() => {
        const tokens = prompt.length * 512
        const usage = `data: {"id":"chatcmpl-replica","object":"chat.completion.chunk","created":1,"model":"bench-replica","choices":[],"usage":{"prompt_tokens":${tokens},"completion_tokens":1,"total_tokens":${tokens + 1}}}\n\n`
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${ANSWER}${usage}data: [DONE]\n\n`)
      }, waitMs)
    })
  }

  #replica(credential: string): Replica {
    const known = this.#replicas.get(credential)
    if (known !== undefined) return known
    const replica = new Replica(() => this.#blockMs)
    this.#replicas.set(credential, replica)
    return replica
  }
}
