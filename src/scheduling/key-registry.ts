import type { KeyStats } from '../core/scheduler-stats.ts'
import type { Provider, Snapshot, UpstreamKey } from '../core/snapshot.ts'
import { Catalog } from './catalog.ts'
import { standingOf } from './choose.ts'
import { KeyState, ProviderState } from './key-state.ts'
import type { SlotSupply } from './slot-supply.ts'
import { usableAtMs } from './wait-estimate.ts'

/** How standings are called in the metrics. */
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

/** The keys of the snapshot, and what has been learned of them over the snapshots. */
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

  /** Enabled keys that may be used, and their slots. */
  capacity(nowMs: number): { availableKeys: number; totalConcurrency: number; keys: number } {
    const available = this.#keys.filter(({ id }) => this.#isUsable(id, nowMs))
    return {
      keys: this.#keys.length,
      availableKeys: available.length,
      totalConcurrency: available.reduce((sum, key) => sum + key.maxConcurrency, 0),
    }
  }

  /** Of all keys in use. */
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

  #isUsable(keyId: string, nowMs: number): boolean {
    const key = this.#states.get(keyId)
    if (key === undefined) return true
    const standing = standingOf(key, nowMs, this.#supply)
    return standing === 'open' || standing === 'full' || standing === 'probe'
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
