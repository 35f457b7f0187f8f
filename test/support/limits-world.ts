import { expect } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import type { LogRow, TestGateway } from './gateway.ts'
import { startGateway } from './gateway.ts'
import type { LimitedOutcome } from './limited-load.ts'
import { startLimitedLoad } from './limited-load.ts'
import { mostInAWindow, mostSurelyInAWindow } from './most-in-a-window.ts'

const FRONTS = 4
const REQUESTS_PER_MINUTE = 500
const TOKENS_PER_MINUTE = 20_000
/** Tokens that one request reserves at most. */
const RESERVATION = 150
/** The load goes on for so many refusals after a limit was reached, so that an excess admission would show. */
const REFUSALS = 200
/** Two windows of 61 seconds begin in this time; even on a busy machine the rest is enough to use up the second. */
const TWO_WINDOWS_MS = 80_000

/** One gateway with four fronts, and keys with one limit each. */
export class LimitsWorld {
  readonly gateway: TestGateway
  /** A key with a limit of 1 000 requests per minute. */
  readonly headerKey: string
  readonly #simulator: Simulator
  readonly #requestKey: string
  readonly #tokenKey: string

  private constructor(simulator: Simulator, gateway: TestGateway, keys: readonly [string, string, string]) {
    this.#simulator = simulator
    this.gateway = gateway
    ;[this.#requestKey, this.#tokenKey, this.headerKey] = keys
  }

  static async start(): Promise<LimitsWorld> {
    const simulator = await startSimulator()
    const [requestKey, tokenKey, headerKey] = [generateApiKey(), generateApiKey(), generateApiKey()]
    const gateway = await startGateway({
      fronts: FRONTS,
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
      keys: [
        { name: 'requests', key: requestKey, rpm: REQUESTS_PER_MINUTE },
        { name: 'tokens', key: tokenKey, tpm: TOKENS_PER_MINUTE },
        { name: 'headers', key: headerKey, rpm: 1_000 },
      ],
    })
    return new LimitsWorld(simulator, gateway, [requestKey, tokenKey, headerKey])
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.#simulator.close()
  }

  /** 200 clients of one key use up one window. Expects that no window of 60 s exceeds the limits. */
  async expectOneWindow(): Promise<void> {
    const { byRequests, byTokens } = await this.#loadUntil(500, async (requests, tokens) => {
      await eventually(
        () => {
          expect(requests.admitted.length).toBeGreaterThanOrEqual(REQUESTS_PER_MINUTE)
          expect(requests.refused).toBeGreaterThan(REFUSALS)
          expect(tokens.usedTokens).toBeGreaterThan(TOKENS_PER_MINUTE - RESERVATION)
          expect(tokens.refused).toBeGreaterThan(REFUSALS)
        },
        { timeoutMs: 50_000 },
      )
    })
    const charges = await this.#charges(byRequests, byTokens)
    expectWithin(charges)
  }

  /** The same for two windows. Expects that each is used up and not exceeded. */
  async expectTwoWindows(): Promise<void> {
    const { byRequests, byTokens } = await this.#loadUntil(2_000, async () => {
      const startedMs = Date.now()
      await eventually(
        () => {
          expect(Date.now() - startedMs).toBeGreaterThan(TWO_WINDOWS_MS)
        },
        { timeoutMs: TWO_WINDOWS_MS + 20_000 },
      )
    })
    const charges = await this.#charges(byRequests, byTokens)
    expectWithin(charges)
    expect(byRequests.admitted).toHaveLength(2 * REQUESTS_PER_MINUTE)
    const total = charges.tokens.reduce((sum, { amount }) => sum + amount, 0)
    expect(total).toBeGreaterThan(2 * TOKENS_PER_MINUTE * 0.95)
    expect(byRequests.refused).toBeGreaterThan(200)
  }

  async #loadUntil(
    maxWaitMs: number,
    isEnough: (requests: LimitedOutcome, tokens: LimitedOutcome) => Promise<void>,
  ): Promise<{ byRequests: LimitedOutcome; byTokens: LimitedOutcome }> {
    const load = (apiKey: string, clients: number, maxTokens: number): ReturnType<typeof startLimitedLoad> =>
      startLimitedLoad({
        url: this.gateway.url,
        apiKey,
        clients,
        maxWaitMs,
        body: {
          model: 'm',
          max_tokens: maxTokens,
          messages: [{ role: 'user', content: 'hello [[sim {"tokens":20,"ttftMs":30}]]' }],
        },
      })
    const requests = load(this.#requestKey, 200, 50)
    const tokens = load(this.#tokenKey, 60, 100)
    await isEnough(requests.outcome, tokens.outcome).finally(() => Promise.all([requests.stop(), tokens.stop()]))
    const [byRequests, byTokens] = [requests.outcome, tokens.outcome]
    expect(byRequests.others).toEqual([])
    expect(byTokens.others).toEqual([])
    return { byRequests, byTokens }
  }

  async #charges(byRequests: LimitedOutcome, byTokens: LimitedOutcome): Promise<Charges> {
    const rows = await eventually(
      async () => {
        const served = await this.gateway.logRows({ status: '200' })
        expect(served).toHaveLength(byRequests.admitted.length + byTokens.admitted.length)
        return served
      },
      { timeoutMs: 60_000, everyMs: 250 },
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    const requests = chargesOf(byRequests.admitted, byId, () => 1)
    expect(requests).toHaveLength(byRequests.admitted.length)
    return { requests, tokens: chargesOf(byTokens.admitted, byId, (row) => row.prompt_tokens + row.completion_tokens) }
  }
}

/** The charge of a request, at an unknown time between its begin and its end. */
interface Charge {
  readonly fromMs: number
  readonly toMs: number
  readonly amount: number
}

interface Charges {
  readonly requests: readonly Charge[]
  readonly tokens: readonly Charge[]
}

function chargesOf(
  ids: readonly string[],
  rows: ReadonlyMap<string, LogRow>,
  amountOf: (row: LogRow) => number,
): Charge[] {
  return ids
    .map((id) => rows.get(id))
    .filter((row) => row !== undefined)
    .map((row) => ({ fromMs: Date.parse(row.time), totalMs: row.total_us / 1000, amount: amountOf(row) }))
    .map(({ fromMs, totalMs, amount }) => ({ fromMs, toMs: fromMs + 1 + totalMs, amount }))
    .sort((a, b) => a.fromMs - b.fromMs)
}

/** Expects that no window exceeds a limit, and that one window uses up each limit. */
function expectWithin({ requests, tokens }: Charges): void {
  const asTheyCame = (charges: readonly Charge[]) => charges.map(({ fromMs, amount }) => [fromMs, amount] as const)
  expect(mostSurelyInAWindow(requests)).toBeLessThanOrEqual(REQUESTS_PER_MINUTE)
  expect(mostInAWindow(asTheyCame(requests))).toBeGreaterThanOrEqual(REQUESTS_PER_MINUTE)
  expect(mostSurelyInAWindow(tokens)).toBeLessThanOrEqual(TOKENS_PER_MINUTE)
  expect(mostInAWindow(asTheyCame(tokens))).toBeGreaterThan(TOKENS_PER_MINUTE - RESERVATION)
}
