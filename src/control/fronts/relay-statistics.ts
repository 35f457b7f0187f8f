import type { Clock } from '../../shared/runtime/clock.ts'
import type { RelayState, UpstreamKeyState } from '../../shared/core/relay-state.ts'
import type { KeyState } from '../../shared/core/scheduler-stats.ts'
import { SlidingWindow } from '../../shared/runtime/sliding-window.ts'
import type { MetricRegistry } from '../../shared/telemetry/metric-registry.ts'
import type { MetricReport, Sample } from '../../shared/telemetry/metrics.ts'

/** Key states from the best to the worst. */
const STATES: readonly KeyState[] = ['ok', 'half-open', 'cooling', 'breaker-open', 'disabled']

type SeenKey = { -readonly [Field in keyof UpstreamKeyState]: UpstreamKeyState[Field] } & {
  calls: Record<string, number>
}

/** Combines the reports of all fronts: the state of upstreams, served requests and tokens. */
export class RelayStatistics {
  readonly #clock: Clock
  readonly #registry: MetricRegistry
  readonly #fronts: () => number
  readonly #requests = new SlidingWindow()
  readonly #tokens = new SlidingWindow()

  constructor(clock: Clock, registry: MetricRegistry, fronts: () => number) {
    this.#clock = clock
    this.#registry = registry
    this.#fronts = fronts
  }

  /** Adds the counters of a front's report at the current time. */
  absorb({ counters }: MetricReport): void {
    const nowMs = this.#clock.now()
    for (const [family, labels, value] of counters) {
      if (family === 'requests') this.#requests.take(value, Infinity, nowMs)
      // These two include cached and reasoning tokens.
      const isWhole = labels[1] === 'prompt' || labels[1] === 'completion'
      if (family === 'tokens' && isWhole) this.#tokens.take(value, Infinity, nowMs)
    }
  }

  state(): RelayState {
    const nowMs = this.#clock.now()
    const keys = new Map<string, SeenKey>()
    let waiting = 0
    for (const sample of this.#registry.states(nowMs)) {
      if (sample[0] === 'waiting') waiting += sample[2]
      else addSample(keys, sample)
    }
    for (const { labels, value } of this.#registry.counter('attempts')) {
      const [providerId, keyId, outcome] = labels
      const seen = keys.get(`${providerId}\0${keyId}`)
      if (seen !== undefined && outcome !== undefined) seen.calls[outcome] = (seen.calls[outcome] ?? 0) + value
    }
    return {
      requestsPerMinute: this.#requests.used(nowMs),
      tokensPerMinute: this.#tokens.used(nowMs),
      waiting,
      fronts: this.#fronts(),
      keys: [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, seen]) => seen),
    }
  }
}

function addSample(keys: Map<string, SeenKey>, [family, labels, value]: Sample): void {
  if (family !== 'slotsUsed' && family !== 'slotsHeld' && family !== 'cooling' && family !== 'keyState') return
  const [, providerId = '', keyId = '', state] = labels
  const name = `${providerId}\0${keyId}`
  let seen = keys.get(name)
  if (seen === undefined) {
    seen = { providerId, keyId, state: 'ok', slotsUsed: 0, slotsHeld: 0, coolingSeconds: 0, calls: {} }
    keys.set(name, seen)
  }
  if (family === 'slotsUsed') seen.slotsUsed += value
  else if (family === 'slotsHeld') seen.slotsHeld += value
  else if (family === 'cooling') seen.coolingSeconds = Math.max(seen.coolingSeconds, value)
  else seen.state = worse(seen.state, state)
}

function worse(one: KeyState, other: string | undefined): KeyState {
  const rank = STATES.findIndex((state) => state === other)
  return STATES[Math.max(rank, STATES.indexOf(one))] ?? one
}
