import type { KeyStats } from '../../shared/core/scheduler-stats.ts'
import type { Provider, Snapshot, UpstreamKey } from '../../shared/core/snapshot.ts'
import { Catalog } from './catalog.ts'
import { standingOf } from './choose.ts'
import { KeyState, ProviderState } from './key-state.ts'
import type { SlotSupply } from './slot-supply.ts'
import { usableAtMs } from './wait-estimate.ts'

/** The names of standings in the metrics. */
const STATES = {
  open: 'ok',
  probe: 'half-open',
  full: 'ok',
  tried: 'ok',
  priority: 'ok',
  cooling: 'cooling',
  breaker: 'breaker-open',
  disabled: 'disabled',
} as const

/** Counts of the enabled keys, of the usable ones with their slots, and of the unusable ones by cause. */
export interface Capacity {
  readonly keys: number
  readonly availableKeys: number
  readonly totalConcurrency: number
  readonly unusable: Readonly<Record<'disabled' | 'breaker' | 'cooling', number>>
}

/** The keys of the snapshot, with their learned state, which outlasts snapshots. */
export class KeyRegistry {
  readonly #supply: SlotSupply
  readonly #onWake: (key: KeyState) => void
  readonly #states = new Map<string, KeyState>()
  readonly #providers = new Map<string, ProviderState>()
  #keys: readonly UpstreamKey[] = []

  constructor(supply: SlotSupply, onWake: (key: KeyState) => void) {
    this.#supply = supply
    this.#onWake = onWake
  }

  update(snapshot: Snapshot): Catalog {
    this.#keys = snapshot.providers.flatMap((provider) => provider.keys).filter((key) => key.enabled)
    const known = new Set(this.#keys.map((key) => key.id))
    for (const [id, state] of this.#states) {
      state.enabled = known.has(id)
      if (state.enabled || state.inFlight > 0 || state.waiting > 0) continue
      this.#states.delete(id)
      state.provider.keys.delete(state)
    }
    const catalog = new Catalog(snapshot, (provider, key) => this.#stateOf(provider, key))
    this.#supply.declare(this.#keys.map(({ id, maxConcurrency }) => ({ id, slots: maxConcurrency })))
    return catalog
  }

  get(keyId: string): KeyState | undefined {
    return this.#states.get(keyId)
  }

  all(): Iterable<KeyState> {
    return this.#states.values()
  }

  capacity(nowMs: number): Capacity {
    const capacity = { keys: this.#keys.length, availableKeys: 0, totalConcurrency: 0 }
    const unusable = { disabled: 0, breaker: 0, cooling: 0 }
    for (const { id, maxConcurrency } of this.#keys) {
      const key = this.#states.get(id)
      const standing = key === undefined ? 'open' : standingOf(key, nowMs, this.#supply)
      if (standing === 'disabled' || standing === 'breaker' || standing === 'cooling') unusable[standing] += 1
      else {
        capacity.availableKeys += 1
        capacity.totalConcurrency += maxConcurrency
      }
    }
    return { ...capacity, unusable }
  }

  /** The statistics of all enabled keys. */
  stats(nowMs: number): KeyStats[] {
    return [...this.#states.values()].filter((key) => key.enabled).map((key) => this.#statsOf(key, nowMs))
  }

  #statsOf(key: KeyState, nowMs: number): KeyStats {
    const standing = standingOf(key, nowMs, this.#supply)
    const breakers = [key.breaker.state(nowMs), key.provider.breaker.state(nowMs)]
    const isHalfOpen = standing === 'probe' || (breakers.includes('probing') && !breakers.includes('open'))
    return {
      providerId: key.provider.id,
      keyId: key.id,
      used: key.inFlight,
      held: Math.min(this.#supply.held(key.id), key.concurrency.limit),
      state: isHalfOpen ? 'half-open' : STATES[standing],
      coolingSeconds: (usableAtMs(key, nowMs) - nowMs) / 1000,
    }
  }

  #stateOf(provider: Provider, { id, credential }: UpstreamKey): KeyState {
    let ofProvider = this.#providers.get(provider.id)
    if (ofProvider === undefined) this.#providers.set(provider.id, (ofProvider = new ProviderState(provider.id)))
    let state = this.#states.get(id)
    if (state === undefined) this.#states.set(id, (state = new KeyState(id, credential, ofProvider, this.#onWake)))
    if (state.credential !== credential) state.renew(credential)
    state.provider.keys.delete(state)
    state.provider = ofProvider
    ofProvider.keys.add(state)
    return state
  }
}
