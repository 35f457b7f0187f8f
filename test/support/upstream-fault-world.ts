import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { call, HELLO, HELLO_MESSAGES } from './ai-calls.ts'
import type { Answer } from './ai-calls.ts'
import { BlackHole } from './black-hole.ts'
import { eventually } from './eventually.ts'
import { startGateway } from './gateway.ts'
import type { TestGateway, TestUpstream } from './gateway.ts'
import { parsePrometheusText, sumOf } from './prometheus-text.ts'
import { inLanes } from './raw-client.ts'
import { FaultUpstream } from './fault-upstream.ts'
import { asksAnother, expectationOf } from './upstream-fault.ts'
import type { Expectation, FaultGroup, UpstreamFault } from './upstream-fault.ts'

/** One fault in one dialect and mode. */
export interface FaultCase {
  readonly id: string
  readonly fault: UpstreamFault
  readonly dialect: UpstreamDialectName
  readonly stream: boolean
  /** The upstream has a second, healthy key. */
  readonly spare: boolean
  readonly expected: Expectation
}

export interface FaultOutcome {
  readonly answer: Answer
  /** Number of requests that reached the upstream; null when it cannot know. */
  readonly turns: number | null
}

/** Every answer is complete within this time. */
const ANSWER_MS = 30_000
const SHORT_WAITS = { connect_ms: 1_000, first_byte_ms: 1_500, idle_ms: 1_500, total_ms: 4_000 }
const SHORT_IDLE = { ...SHORT_WAITS, total_ms: 2 * ANSWER_MS }
/** The retry budget is at least three. */
const RETRIES_AT_A_TIME = 3
const LANES = 12
/** When no request can reach an upstream, its spare is a separate upstream, which these weights make almost never the first choice. */
const FIRST_WEIGHT = 1_000
const SPARE_WEIGHT = 1e-9

export function casesOf(groups: readonly FaultGroup[]): FaultCase[] {
  return groups
    .flatMap(({ faults }) => faults)
    .flatMap((fault) =>
      (['openai-chat', 'anthropic-messages'] as const).flatMap((dialect) =>
        [false, true].flatMap((stream) => {
          const expected = expectationOf(fault, dialect, stream)
          if (expected === null) return []
          const name = `${fault.name}-${dialect === 'openai-chat' ? 'chat' : 'messages'}-${stream ? 's' : 'b'}`
          return (expected.kind === 'whole' ? [false] : [false, true]).map((spare) => ({
            id: `${name}${spare ? '-spare' : ''}`,
            fault,
            dialect,
            stream,
            spare,
            expected,
          }))
        }),
      ),
    )
}

/** Whether the gateway must try another key. */
export function goesOn({ spare, expected }: FaultCase): boolean {
  return spare && expected.kind === 'refused' && asksAnother(expected)
}

function leavesAlone({ spare, expected }: FaultCase): boolean {
  return !spare && expected.kind === 'refused' && (expected.key === 'out' || expected.key === 'rests as told')
}

/** The kernel never assigns port 1; it may soon reuse a port that was just closed. */
const CLOSED_ORIGIN = 'http://127.0.0.1:1'

/** One gateway with an upstream for every case, so that the state of a key affects no other case. */
export class FaultWorld {
  readonly gateway: TestGateway
  readonly simulator: Simulator
  readonly #raw: ReadonlyMap<string, FaultUpstream>
  readonly #blackHole: BlackHole
  readonly outcomes = new Map<string, FaultOutcome | Error>()
  /** Cooldown of the key of each case, after all cases without a second key have run. */
  readonly coolingSeconds = new Map<string, number>()

  private constructor(
    gateway: TestGateway,
    simulator: Simulator,
    raw: ReadonlyMap<string, FaultUpstream>,
    blackHole: BlackHole,
  ) {
    this.gateway = gateway
    this.simulator = simulator
    this.#raw = raw
    this.#blackHole = blackHole
  }

  static async start(cases: readonly FaultCase[]): Promise<FaultWorld> {
    const simulator = await startSimulator()
    const blackHole = await BlackHole.open()
    const raw = new Map<string, FaultUpstream>()
    for (const { id, fault, dialect, stream, spare } of cases) {
      const badTurns = spare ? 1 : Number.POSITIVE_INFINITY
      const { source } = fault
      if (source.kind === 'raw')
        raw.set(id, await FaultUpstream.start({ play: source.play, dialect, stream, badTurns }))
      if (source.kind === 'simulator') {
        simulator.configureKey(credentialOf(id), spare ? { ...source.behaviour, failTimes: 1 } : source.behaviour)
      }
    }
    const originOf = ({ id, fault: { source } }: FaultCase): string => {
      if (source.kind === 'closed port') return CLOSED_ORIGIN
      return source.kind === 'black hole' ? blackHole.origin : (raw.get(id)?.origin ?? simulator.origin)
    }
    const gateway = await startGateway({
      upstreams: cases.flatMap((test) => upstreamsOf(test, originOf(test), simulator.origin)),
      config: { limits: { max_answer_bytes: 4 * 1024 * 1024 } },
    })
    return new FaultWorld(gateway, simulator, raw, blackHole)
  }

  /** Runs every case, the slow ones first. */
  async run(cases: readonly FaultCase[]): Promise<void> {
    const slowFirst = [...cases].sort(
      (a, b) => Number(b.fault.hangs !== undefined) - Number(a.fault.hangs !== undefined),
    )
    const ask = async (test: FaultCase): Promise<void> => {
      this.outcomes.set(test.id, await this.#ask(test).catch((cause: unknown) => new Error(test.id, { cause })))
    }
    await inLanes(
      slowFirst.filter((test) => !goesOn(test)),
      LANES,
      ask,
    )
    await this.#lookAtKeys(cases.filter(leavesAlone))
    await inLanes(slowFirst.filter(goesOn), RETRIES_AT_A_TIME, ask)
  }

  async close(): Promise<void> {
    await this.gateway.stop()
    await Promise.all([...this.#raw.values()].map((upstream) => upstream.close()))
    await this.#blackHole.close()
    await this.simulator.close()
  }

  async #ask(test: FaultCase): Promise<FaultOutcome> {
    const { id, dialect, stream, fault } = test
    const chat = dialect === 'openai-chat'
    const answer = await call(this.gateway, {
      path: chat ? '/v1/chat/completions' : '/v1/messages',
      body: { ...(chat ? HELLO : HELLO_MESSAGES), model: id, stream },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    return {
      answer,
      turns:
        fault.source.kind === 'simulator'
          ? this.simulator.ledger.of(credentialOf(id)).started
          : (this.#raw.get(id)?.turns ?? null),
    }
  }

  /** Records the cooldown of keys; the gateway reports it with some delay. */
  async #lookAtKeys(resting: readonly FaultCase[]): Promise<void> {
    const headers = { authorization: `Bearer ${await this.gateway.adminToken()}` }
    const look = async (): Promise<void> => {
      const { text } = await call(this.gateway, { path: '/metrics', headers })
      const families = parsePrometheusText(text)
      for (const id of this.outcomes.keys()) {
        this.coolingSeconds.set(id, sumOf(families, 'sluice_upstream_key_cooling_seconds', { provider: id }))
      }
      const unknown = resting.filter(({ id }) => (this.coolingSeconds.get(id) ?? 0) === 0)
      if (unknown.length > 0) throw new Error(`in use: ${unknown.map(({ id }) => id).join(', ')}`)
    }
    // The test of the case reports a key that should be in cooldown and is not.
    await eventually(look, { timeoutMs: 10_000, everyMs: 250 }).catch(() => undefined)
  }
}

function credentialOf(id: string): string {
  return `upstream-credential-${id}`
}

/** With a spare, both keys have one credential: the key that is used first has the fault, the other one is healthy. */
function upstreamsOf(test: FaultCase, origin: string, spareOrigin: string): TestUpstream[] {
  const { id, dialect, fault, spare } = test
  const more = fault.hangs === undefined ? {} : { timeouts: fault.hangs === 'idle' ? SHORT_IDLE : SHORT_WAITS }
  const key = { credential: credentialOf(id) }
  const upstream = { id, dialect, baseUrl: `${origin}/v1`, more }
  const unreachable = fault.source.kind === 'closed port' || fault.source.kind === 'black hole'
  if (!spare) return [{ ...upstream, models: [id], keys: [key] }]
  if (!unreachable) return [{ ...upstream, models: [id], keys: [key, key] }]
  return [
    { ...upstream, models: [id], keys: [{ ...key, weight: FIRST_WEIGHT }] },
    { id: `${id}-2`, dialect, baseUrl: `${spareOrigin}/v1`, models: [id], keys: [{ ...key, weight: SPARE_WEIGHT }] },
  ]
}
