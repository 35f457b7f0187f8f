import { setTimeout as pace } from 'node:timers/promises'
import { expect } from 'vitest'
import type { RecordedAnswer } from '../../src/simulator/recorded.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import { ExpectedBytes } from './expected-bytes.ts'
import type { TestGateway } from './gateway.ts'
import { startGateway } from './gateway.ts'
import { BrokenOffError, RawClient, inLanes } from './raw-client.ts'
import type { RawAnswer } from './raw-client.ts'
import { SeededRandom } from './seeded-random.ts'
import { serverPatience } from './server-patience.ts'
import {
  LONG_PROMPT_TOKENS,
  LongStreamCheck,
  WOVEN_USAGE,
  longText,
  longTextTokens,
  plainBody,
  plainStream,
  wovenAnswer,
} from './slow-streams.ts'

const SEED = 20_260_502
/** One stream in so many is longer than the kernel's buffers for a client that does not read. */
const LONG_EVERY = 10
const LONG_MODEL = 'long'
/** Backpressure has reached an upstream when it writes nothing between so many checks. */
const STILL_LOOKS = 3
const LOOK_EVERY_MS = 100
/** Well before the gateway closes the connection of a slow reader. */
const STILL_WITHIN_MS = 8_000
/** The gateway may cut a reader that has stopped for a little longer. */
const MAY_CUT_MS = 14_000
const MAX_TRIES = 3
/** Length of a stream that no client could read to its end. */
const ENDLESS_TOKENS = 100_000_000

/** The pauses of a reader. */
interface Schedule {
  readonly readBytes: number
  readonly firstPauseAtBytes: number
  /** The first pause ends when this resolves. */
  readonly firstPause: () => Promise<void>
  readonly bytesBetweenPauses: () => number
  /** Length of each later pause. */
  readonly paceMs: () => number
}

interface Read {
  readonly kind: 'long' | 'woven'
  readonly answer: RawAnswer
  readonly bodyBytes: number
}

export interface SlowReadersOptions {
  readonly streams: number
  /** Number of concurrent readers. */
  readonly lanes: number
  /** Events of each long stream; 100 are about a megabyte. */
  readonly events: number
}

/** A gateway whose clients read slowly, or not at all. */
export class SlowReaders {
  readonly #simulator: Simulator
  readonly #gateway: TestGateway
  readonly #options: SlowReadersOptions
  readonly #tokens: readonly string[]
  readonly #reads: Read[] = []
  readonly #ids = new Set<string>()
  #pauses = 0
  #heldBack = 0

  private constructor(parts: {
    simulator: Simulator
    gateway: TestGateway
    options: SlowReadersOptions
    tokens: readonly string[]
  }) {
    this.#simulator = parts.simulator
    this.#gateway = parts.gateway
    this.#options = parts.options
    this.#tokens = parts.tokens
  }

  static async start(options: SlowReadersOptions): Promise<SlowReaders> {
    const text = longText(SEED, options.events)
    const simulator = await startSimulator()
    const baseUrl = `${simulator.origin}/v1`
    // Every long stream has a separate upstream, so that its written bytes are known.
    const long = Array.from({ length: options.streams / LONG_EVERY }, (_, n) => longName(n * LONG_EVERY))
    for (const name of long) simulator.configureKey(name, { text, promptTokens: LONG_PROMPT_TOKENS })
    const gateway = await startGateway({
      upstreams: [
        {
          dialect: 'openai-chat',
          baseUrl,
          models: ['woven'],
          keys: [{ credential: 'woven', max_concurrency: 10_000 }],
        },
        ...long.map((name) => ({
          id: name,
          dialect: 'openai-chat' as const,
          baseUrl,
          models: [],
          keys: [{ credential: name }],
          more: { models: [{ id: name, upstream_model: LONG_MODEL }] },
        })),
      ],
    })
    console.log(`slow readers: seed ${SEED}`)
    return new SlowReaders({ simulator, gateway, options, tokens: longTextTokens(text) })
  }

  async stop(): Promise<void> {
    await this.#gateway.stop()
    await this.#simulator.close()
  }

  /** Expects that every reader gets every byte, in well-formed chunks. */
  async expectEveryByte(): Promise<void> {
    const { streams, lanes } = this.#options
    await inLanes(
      Array.from({ length: streams }, (_, n) => n),
      lanes,
      async (n, lane) => {
        this.#reads.push(n % LONG_EVERY === 0 ? await this.#readLong(n) : await this.#readWoven(n, lane))
      },
    )

    const reads = this.#reads
    const bytes = reads.reduce((sum, read) => sum + read.bodyBytes, 0)
    const chunks = reads.reduce((sum, read) => sum + read.answer.chunks, 0)
    console.log(
      `slow readers: ${bytes} bytes in ${chunks} chunks, ${this.#pauses} pauses, ${this.#heldBack} upstreams held back`,
    )
    expect(reads.length).toBe(streams)
    expect(reads.every(({ answer }) => answer.status === 200)).toBe(true)
    expect(this.#ids.size).toBe(streams / LONG_EVERY)
    // Proves that some readers were slow enough to cause backpressure. For others the kernel's buffers may have been large enough.
    expect(this.#heldBack).toBeGreaterThan(0)
  }

  /** Expects a row of a complete answer for each of those streams. */
  async expectRows(): Promise<void> {
    const completion_tokens = this.#tokens.length
    await eventually(
      async () => {
        const rows = new Map((await this.#gateway.logRows()).map((row) => [row.id, row]))
        for (const { kind, answer } of this.#reads) {
          const usage = kind === 'woven' ? WOVEN_USAGE : { prompt_tokens: LONG_PROMPT_TOKENS, completion_tokens }
          const wanted = { status: 200, settlement: 'exact', aborted: false, error_code: null, ...usage }
          expect(rows.get(answer.requestId)).toMatchObject(wanted)
        }
      },
      { timeoutMs: 50_000, everyMs: 500 },
    )
  }

  /**
   * Readers of answers of these sizes stop at the first bytes for as long as the server's own timeout. Expects that they still get
   * every byte.
   */
  async expectPatience(sizes: {
    readonly streams: readonly number[]
    readonly whole: readonly number[]
  }): Promise<void> {
    const answers = [
      ...sizes.streams.map((size) => ({ size, stream: true })),
      ...sizes.whole.map((size) => ({ size, stream: false })),
    ]
    await inLanes(
      answers.map((answer, n) => ({ ...answer, id: `stopped-${n}` })),
      answers.length,
      async ({ size, stream, id }) => {
        const answer: RecordedAnswer = {
          id,
          status: 200,
          headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
          body: stream ? plainStream(size) : plainBody(size),
          splits: null,
        }
        this.#simulator.record(answer)
        const body = requestOf('woven', `[[sim {"recorded":"${id}"}]]`, id, stream)
        for (let tries = 1; ; tries++) {
          const { got, tookMs } = await this.#readAfterPause(body)
          if (Buffer.isBuffer(got)) {
            expect(got.equals(answer.body), `${size} bytes`).toBe(true)
            return
          }
          // A machine that held this process up has made the reader stop for as long as the gateway allows.
          if (tookMs < MAY_CUT_MS || tries === MAX_TRIES) throw got
        }
      },
    )
  }

  /** Reads an answer, with one pause of the server's own patience; an error in place of the body, where the connection was cut. */
  async #readAfterPause(body: string): Promise<{ readonly got: Buffer | Error; readonly tookMs: number }> {
    // Little enough to stop at the first bytes. The kernel holds megabytes: the gateway sees no progress until they are read.
    const client = await RawClient.connect(this.#gateway.port, { readBytes: 16_384 })
    const startMs = performance.now()
    const resumed = stopOnce(client, () => serverPatience(this.#gateway.port))
    resumed.catch(() => undefined)
    try {
      const { body: got } = await client.post({ path: '/v1/chat/completions', headers: this.#headers(), body })
      await resumed
      return { got, tookMs: performance.now() - startMs }
    } catch (cause) {
      return { got: cause as Error, tookMs: performance.now() - startMs }
    } finally {
      client.close()
    }
  }

  /** Expects that the gateway cuts a reader that stops for good, later than the server's own timeout, and bills the sent tokens. */
  async expectCut(): Promise<void> {
    const user = 'never-reads-on'
    const client = await RawClient.connect(this.#gateway.port, { readBytes: 1_024 })
    const cut = (): boolean => this.#simulator.ledger.records().some((record) => record.user === user)
    const stopped = new Promise<void>((resolve) => {
      client.onRead(() => {
        if (client.bodyBytes === 0) return
        client.pause()
        resolve()
      })
    })
    const body = requestOf('woven', `[[sim {"tokens":${ENDLESS_TOKENS}}]]`, user)
    const answer = client
      .post({ path: '/v1/chat/completions', headers: this.#headers(), body }, () => undefined)
      .catch((cause: unknown) => cause)
    await stopped
    await serverPatience(this.#gateway.port)
    expect(cut()).toBe(false)
    await eventually(() => expect(cut()).toBe(true), { timeoutMs: 60_000 })
    expect(this.#simulator.ledger.records().find((record) => record.user === user)?.outcome).toBe('aborted')

    // A client that resumes gets the bytes in the kernel's buffers, then the end of the connection before that of the answer.
    client.onRead(() => undefined)
    client.resume()
    expect(await answer).toBeInstanceOf(BrokenOffError)
    const row = await this.#gateway.logRow(client.head?.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({ status: 200, aborted: true, stream: true, settlement: 'observed', attempts: 1 })
    expect(row.completion_tokens).toBeGreaterThan(0)
  }

  async #readLong(n: number): Promise<Read> {
    const random = new SeededRandom(SEED + n)
    const check = new LongStreamCheck(this.#tokens, LONG_MODEL)
    const user = `slow-${n}`
    const schedule: Schedule = {
      readBytes: random.pick([4_096, 16_384, 65_536]),
      firstPauseAtBytes: random.between(1, 300_000),
      firstPause: async () => {
        const isStill = await this.#still(longName(n))
        if (isStill && !this.#simulator.ledger.records().some((record) => record.user === user)) this.#heldBack++
      },
      bytesBetweenPauses: () => random.between(200_000, 900_000),
      paceMs: () => random.between(20, 250),
    }
    const read = await this.#readSlowly('long', schedule, requestOf(longName(n), 'go', user), check)
    if (check.id !== null) this.#ids.add(check.id)
    return read
  }

  async #readWoven(n: number, lane: number): Promise<Read> {
    const random = new SeededRandom(SEED + n)
    const answer = wovenAnswer(`woven-${lane}`, SEED + n)
    this.#simulator.record(answer)
    let whole: Buffer | null = answer.body
    const check = new ExpectedBytes(() => {
      const next = whole
      whole = null
      return next
    })
    const paceMs = (): number => random.between(5, 200)
    const schedule: Schedule = {
      readBytes: random.pick([256, 1_024, 4_096, 16_384]),
      firstPauseAtBytes: random.between(1, 50_000),
      firstPause: () => pace(paceMs()),
      bytesBetweenPauses: () => random.between(20_000, 200_000),
      paceMs,
    }
    const body = requestOf('woven', `[[sim {"recorded":"woven-${lane}"}]]`, `slow-${n}`)
    return this.#readSlowly('woven', schedule, body, check)
  }

  async #readSlowly(
    kind: Read['kind'],
    schedule: Schedule,
    body: string,
    check: { take(bytes: Buffer): void; end(): void },
  ): Promise<Read> {
    const client = await RawClient.connect(this.#gateway.port, { readBytes: schedule.readBytes })
    let pauseAt = schedule.firstPauseAtBytes
    let paused = 0
    let failure: unknown = null
    client.onRead(() => {
      if (client.bodyBytes < pauseAt) return
      pauseAt = client.bodyBytes + schedule.bytesBetweenPauses()
      client.pause()
      const over = paused++ === 0 ? schedule.firstPause() : pace(schedule.paceMs())
      over.then(
        () => {
          client.resume()
        },
        (cause: unknown) => {
          failure = cause
          client.close()
        },
      )
    })
    const request = { path: '/v1/chat/completions', headers: this.#headers(), body }
    const answer = await client
      .post(request, (piece) => {
        check.take(piece)
      })
      .catch((cause: unknown) => {
        throw failure ?? cause
      })
    check.end()
    const { bodyBytes } = client
    client.close()
    this.#pauses += paused
    return { kind, answer, bodyBytes }
  }

  /**
   * Waits until the upstream with this credential writes nothing more, by backpressure or at its end. False when, on a busy machine,
   * it still writes when the reader must resume so that the gateway does not cut it.
   */
  #still(credential: string): Promise<boolean> {
    let before = -1
    let looks = 0
    return eventually(
      () => {
        const { bytesWritten } = this.#simulator.ledger.of(credential)
        looks = bytesWritten === before ? looks + 1 : 0
        before = bytesWritten
        expect(looks).toBe(STILL_LOOKS)
        return true
      },
      { everyMs: LOOK_EVERY_MS, timeoutMs: STILL_WITHIN_MS },
    ).catch(() => false)
  }

  #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#gateway.apiKey}`, 'content-type': 'application/json' }
  }
}

/** Stops reading at the first bytes of the answer until `until` resolves. */
function stopOnce(client: RawClient, until: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopped = false
    client.onRead(() => {
      if (stopped || client.bodyBytes === 0) return
      stopped = true
      client.pause()
      until()
        .finally(() => {
          client.resume()
        })
        .then(resolve, reject)
    })
  })
}

function longName(n: number): string {
  return `long-${n}`
}

function requestOf(model: string, content: string, user: string, stream = true): string {
  const stream_options = stream ? { include_usage: true } : null
  return JSON.stringify({ model, user, stream, stream_options, messages: [{ role: 'user', content }] })
}
