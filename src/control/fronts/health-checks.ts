import type { HealthCheckResult, HealthCheckSettings } from '../../shared/core/health-check.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import type { Provider, Snapshot, UpstreamKey } from '../../shared/core/snapshot.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { PacedTimer } from '../../shared/runtime/paced-timer.ts'
import type { Logger } from '../../shared/telemetry/logger.ts'

const TICK_MS = 100
/** While no upstream has health checks, the snapshot is looked at so often. */
const REST_MS = 1_000
export const MAX_CONCURRENT_CHECKS = 8
/** So many failed checks in a row take a key out of use. */
const FAILURES_TO_OPEN = 3
/** A key stays out of use for so many intervals after a failed check: the next one decides before that. */
const OPEN_INTERVALS = 2.5
/** With long intervals, fronts may try a key earlier. */
const LONGEST_OPEN_MS = 300_000
/**
 * A key whose calls fail again so soon after a check brought it back is left to the probes of fronts: a provider may list its models
 * and serve none.
 */
const RELAPSE_MS = 300_000
/** The time between two checks varies by this share, so that checks of several keys and machines do not coincide. */
const JITTER = 0.1

const SAYS = {
  failed: 'health checks fail',
  unreachable: 'health checks do not reach the provider',
  refused: 'the provider refuses its credential in health checks',
} as const

export interface HealthChecksOptions {
  readonly clock: Clock
  readonly random: () => number
  /** Null: the fault is this machine's, and says nothing about the key. */
  readonly check: (
    provider: Provider,
    key: UpstreamKey,
    settings: HealthCheckSettings,
  ) => Promise<HealthCheckResult | null>
  /** Returns the upstreams that this gateway checks; another one on the same Redis may check the rest for all. */
  readonly claim: (upstreams: readonly string[]) => Promise<ReadonlySet<string>>
  /** The events of the keys that hold at the moment. */
  readonly events: () => readonly KeyHealthEvent[]
  readonly tell: (event: KeyHealthEvent) => void
  readonly snapshot: () => Snapshot | null
  readonly logger: Logger
  readonly onFault: (cause: unknown) => void
}

interface Checked {
  readonly provider: Provider
  readonly key: UpstreamKey
  readonly settings: HealthCheckSettings
}

class CheckState {
  readonly credential: string
  intervalMs: number
  nextAtMs: number
  isRunning = false
  failures = 0
  /** A check has taken the key out of use. */
  isOpen = false
  broughtBackAtMs = -Infinity

  constructor(credential: string, intervalMs: number, nextAtMs: number) {
    this.credential = credential
    this.intervalMs = intervalMs
    this.nextAtMs = nextAtMs
  }
}

/**
 * Checks the keys of upstreams that have active health checks. The results go to fronts as the events that fronts send each other, so
 * that breakers open and close by them. A check is no request: nothing is recorded, counted or charged.
 */
export class HealthChecks {
  readonly #options: HealthChecksOptions
  readonly #states = new Map<string, CheckState>()
  #snapshot: Snapshot | null = null
  #checked: readonly Checked[] = []
  #upstreams: readonly string[] = []
  #running = 0
  #timer: PacedTimer | null = null
  #isAsking = false
  #isStopped = false

  constructor(options: HealthChecksOptions) {
    this.#options = options
  }

  start(): void {
    const tick = (): number => {
      this.tick()
      return this.#upstreams.length === 0 ? REST_MS : TICK_MS
    }
    this.#timer = new PacedTimer(TICK_MS, tick, this.#options.onFault)
  }

  /** The results of checks that are under way count no more: they may have failed by the stop. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.stop()
  }

  /** Begins the checks that are due. */
  tick(): void {
    this.#follow()
    if (this.#upstreams.length === 0 || this.#isAsking) return
    this.#isAsking = true
    // Between checks too: a claim that is not renewed goes to another gateway.
    this.#options
      .claim(this.#upstreams)
      .then((claimed) => {
        if (!this.#isStopped) for (const one of this.#due()) this.#begin(one, claimed.has(one.provider.id))
      })
      .catch(this.#options.onFault)
      .finally(() => {
        this.#isAsking = false
      })
  }

  /** The longest due first: there may be more than can be checked at a time. */
  #due(): Checked[] {
    const nowMs = this.#options.clock.now()
    const dueAtMs = ({ key }: Checked): number => {
      const state = this.#states.get(key.id)
      return state === undefined || state.isRunning ? Infinity : state.nextAtMs
    }
    return this.#checked.filter((one) => dueAtMs(one) <= nowMs).sort((one, other) => dueAtMs(one) - dueAtMs(other))
  }

  /** Takes the keys of a new snapshot. What is known of a key stays. */
  #follow(): void {
    const snapshot = this.#options.snapshot()
    if (snapshot === null || snapshot === this.#snapshot) return
    this.#snapshot = snapshot
    this.#checked = snapshot.providers.flatMap((provider) => {
      const { healthCheck: settings } = provider
      if (settings === undefined) return []
      return provider.keys.filter(({ enabled }) => enabled).map((key) => ({ provider, key, settings }))
    })
    this.#upstreams = [...new Set(this.#checked.map(({ provider }) => provider.id))]
    const ids = new Set(this.#checked.map(({ key }) => key.id))
    for (const id of this.#states.keys()) if (!ids.has(id)) this.#states.delete(id)
    const { clock, random } = this.#options
    for (const { key, settings } of this.#checked) {
      const { intervalMs } = settings
      const state = this.#states.get(key.id)
      if (state?.credential === key.credential && state.intervalMs === intervalMs) continue
      const nextAtMs = clock.now() + random() * intervalMs
      if (state?.credential === key.credential) Object.assign(state, { intervalMs, nextAtMs })
      else this.#states.set(key.id, new CheckState(key.credential, intervalMs, nextAtMs))
    }
  }

  #begin(checked: Checked, mayCheck: boolean): void {
    const { clock, random, check, onFault } = this.#options
    const { provider, key, settings } = checked
    const state = this.#states.get(key.id)
    if (state === undefined || state.isRunning) return
    // A check that finds no room waits for the next tick.
    if (mayCheck && this.#running >= MAX_CONCURRENT_CHECKS) return
    state.nextAtMs = clock.now() + settings.intervalMs * (1 + JITTER * (2 * random() - 1))
    if (!mayCheck) {
      // Another gateway knows the key from now on.
      state.failures = 0
      state.isOpen = false
      return
    }
    state.isRunning = true
    this.#running += 1
    check(provider, key, settings)
      .then((result) => {
        // The key may have been removed, or have another credential, meanwhile.
        const isCurrent = this.#states.get(key.id) === state && !this.#isStopped
        if (isCurrent && result !== null) this.#learn(checked, state, result)
      })
      .catch(onFault)
      .finally(() => {
        state.isRunning = false
        this.#running -= 1
      })
  }

  #learn(checked: Checked, state: CheckState, result: HealthCheckResult): void {
    if (result.kind === 'ok') {
      this.#learnSuccess(checked, state)
      return
    }
    const { clock, tell, logger } = this.#options
    const { key, settings } = checked
    state.failures += 1
    if (state.failures < FAILURES_TO_OPEN) return
    const reason = `${SAYS[result.kind]} (${result.detail})`
    if (!state.isOpen) logger.warn({ keyId: key.id }, `upstream key ${key.id} is not used: ${reason}`)
    state.isOpen = true
    tell({
      keyId: key.id,
      kind: result.kind === 'refused' ? 'disabled' : 'breaker-open',
      untilMs: clock.now() + Math.min(OPEN_INTERVALS * settings.intervalMs, LONGEST_OPEN_MS),
      reason,
    })
  }

  #learnSuccess({ key }: Checked, state: CheckState): void {
    const { clock, tell, events, logger } = this.#options
    const nowMs = clock.now()
    state.failures = 0
    // The list of models says nothing about an account without credit: a key that calls disabled waits for a call.
    const fails = events().some(({ keyId, kind }) => keyId === key.id && kind === 'breaker-open')
    const isRelapse = nowMs - state.broughtBackAtMs < RELAPSE_MS
    if (!state.isOpen && (!fails || isRelapse)) return
    state.isOpen = false
    state.broughtBackAtMs = nowMs
    logger.info({ keyId: key.id }, `upstream key ${key.id} is used again: the health check was answered`)
    tell({
      keyId: key.id,
      kind: 'breaker-closed',
      untilMs: nowMs,
      reason: 'the health check was answered',
      checked: true,
    })
  }
}
