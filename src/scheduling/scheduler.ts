import type { Clock } from '../core/clock.ts'
import type { AttemptOutcome, Deployment, Slot } from '../core/deployment.ts'
import type { DialectName } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { SchedulerStats } from '../core/scheduler-stats.ts'
import type { Model, Provider, Snapshot, UpstreamKey } from '../core/snapshot.ts'

/** What is known of an upstream key beyond its configuration; survives snapshots. */
interface KeyState {
  inFlight: number
  coolingUntilMs: number
  consecutiveFailures: number
}

const FAILURES_BEFORE_COOLING = 5
const FAILURE_COOLING_MS = 5_000
const RATE_LIMIT_COOLING_MS = 1_000
const UNAUTHORISED_COOLING_MS = 60_000
const MAX_COOLING_MS = 300_000

export interface SchedulerOptions {
  /** The share of each key's slots that this process may use is one in `processes`. */
  readonly processes: number
  readonly random: () => number
  readonly clock: Clock
}

/** Picks an upstream key with room. Pure but for the randomness and the clock it is given. */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #states = new Map<string, KeyState>()
  #models: ReadonlyMap<string, readonly Deployment[]> = new Map()
  #patterns: ReadonlyArray<{ prefix: string; deployments: readonly Deployment[] }> = []
  #providers: readonly Provider[] = []
  #keys: readonly UpstreamKey[] = []

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  update(snapshot: Snapshot): void {
    const providers = new Map(snapshot.providers.map((provider) => [provider.id, provider]))
    const deploymentsOf = (model: Model): Deployment[] =>
      model.targets.flatMap((target) => {
        const provider = providers.get(target.providerId)
        if (provider === undefined) return []
        return provider.keys
          .filter((key) => key.enabled && key.weight > 0)
          .map((key) => ({
            provider,
            key,
            upstreamModel: target.upstreamModel,
            weight: target.weight * key.weight,
          }))
      })
    this.#models = new Map(
      snapshot.models.filter((model) => !model.id.endsWith('*')).map((model) => [model.id, deploymentsOf(model)]),
    )
    this.#patterns = snapshot.models
      .filter((model) => model.id.endsWith('*'))
      .map((model) => ({ prefix: model.id.slice(0, -1), deployments: deploymentsOf(model) }))
      .sort((a, b) => b.prefix.length - a.prefix.length)
    this.#providers = snapshot.providers
    this.#keys = snapshot.providers.flatMap((provider) => provider.keys).filter((key) => key.enabled)
    const known = new Set(this.#keys.map((key) => key.id))
    for (const [id, state] of this.#states) if (!known.has(id) && state.inFlight === 0) this.#states.delete(id)
  }

  /** The deployments that serve a model to clients of a dialect. Throws MODEL_NOT_FOUND. */
  deployments(model: string, dialect: DialectName): readonly Deployment[] {
    const all = this.#models.get(model) ?? this.#byPattern(model)
    const fitting = all?.filter((deployment) => deployment.provider.dialect === dialect)
    if (fitting === undefined || fitting.length === 0) {
      throw new GatewayError('MODEL_NOT_FOUND', {
        message: `The model ${JSON.stringify(model)} does not exist here, or not for this endpoint. GET /v1/models lists what does.`,
        param: '/model',
      })
    }
    return fitting
  }

  /** A slot at one of the deployments, by weight, never at a key in `tried`; null when none has room. */
  acquire(deployments: readonly Deployment[], tried: ReadonlySet<string>, nowMs: number): Slot | null {
    const open = deployments.filter(({ key }) => !tried.has(key.id) && this.#hasRoom(key, nowMs))
    const chosen = this.#byWeight(open)
    if (chosen === null) return null
    const state = this.#stateOf(chosen.key.id)
    state.inFlight += 1
    let released = false
    return {
      deployment: chosen,
      release: (outcome) => {
        if (released) return
        released = true
        state.inFlight -= 1
        learn(state, outcome, this.#options.clock.now())
      },
    }
  }

  /** Seconds until one of the deployments may have room again, at least 1. */
  secondsUntilRoom(deployments: readonly Deployment[], nowMs: number): number {
    const waits = deployments.map(({ key }) => Math.max(0, this.#stateOf(key.id).coolingUntilMs - nowMs) / 1000)
    return Math.max(1, Math.min(...waits))
  }

  /** Enabled keys that are not cooling, and their slots. */
  capacity(nowMs: number): { availableKeys: number; totalConcurrency: number; keys: number } {
    const available = this.#keys.filter((key) => this.#stateOf(key.id).coolingUntilMs <= nowMs)
    return {
      keys: this.#keys.length,
      availableKeys: available.length,
      totalConcurrency: available.reduce((sum, key) => sum + key.maxConcurrency, 0),
    }
  }

  /** Of all enabled keys. */
  stats(nowMs: number): SchedulerStats {
    const keys = this.#providers.flatMap((provider) =>
      provider.keys
        .filter((key) => key.enabled)
        .map((key) => {
          const { inFlight, coolingUntilMs } = this.#stateOf(key.id)
          const coolingSeconds = Math.max(0, coolingUntilMs - nowMs) / 1000
          return {
            providerId: provider.id,
            keyId: key.id,
            used: inFlight,
            held: this.#shareOf(key),
            state: coolingSeconds > 0 ? ('cooling' as const) : ('ok' as const),
            coolingSeconds,
          }
        }),
    )
    return { keys, waiting: 0 }
  }

  inFlight(keyId: string): number {
    return this.#states.get(keyId)?.inFlight ?? 0
  }

  #byPattern(model: string): readonly Deployment[] | undefined {
    const pattern = this.#patterns.find(({ prefix }) => model.startsWith(prefix))
    const rest = model.slice(pattern?.prefix.length)
    return pattern?.deployments.map((deployment) => ({
      ...deployment,
      upstreamModel: deployment.upstreamModel.replace(/\*$/, rest.replaceAll('$', '$$$$')),
    }))
  }

  #hasRoom(key: UpstreamKey, nowMs: number): boolean {
    const state = this.#stateOf(key.id)
    return state.inFlight < this.#shareOf(key) && state.coolingUntilMs <= nowMs
  }

  #shareOf(key: UpstreamKey): number {
    return Math.max(1, Math.floor(key.maxConcurrency / this.#options.processes))
  }

  #byWeight(open: readonly Deployment[]): Deployment | null {
    const total = open.reduce((sum, deployment) => sum + deployment.weight, 0)
    let point = this.#options.random() * total
    for (const deployment of open) {
      point -= deployment.weight
      if (point < 0) return deployment
    }
    return open[open.length - 1] ?? null
  }

  #stateOf(keyId: string): KeyState {
    let state = this.#states.get(keyId)
    if (state === undefined) {
      state = { inFlight: 0, coolingUntilMs: 0, consecutiveFailures: 0 }
      this.#states.set(keyId, state)
    }
    return state
  }
}

function learn(state: KeyState, outcome: AttemptOutcome, nowMs: number): void {
  switch (outcome.kind) {
    case 'ok':
    case 'refused':
      state.consecutiveFailures = 0
      return
    case 'abandoned':
      return
    case 'rate-limited': {
      const waitMs = outcome.retryAfterSeconds === null ? RATE_LIMIT_COOLING_MS : outcome.retryAfterSeconds * 1000
      cool(state, nowMs, waitMs)
      return
    }
    case 'unauthorised':
      cool(state, nowMs, UNAUTHORISED_COOLING_MS)
      return
    case 'failed':
      state.consecutiveFailures += 1
      if (state.consecutiveFailures >= FAILURES_BEFORE_COOLING) cool(state, nowMs, FAILURE_COOLING_MS)
  }
}

function cool(state: KeyState, nowMs: number, forMs: number): void {
  state.coolingUntilMs = Math.max(state.coolingUntilMs, nowMs + Math.min(forMs, MAX_COOLING_MS))
}
