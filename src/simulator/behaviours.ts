import { calmed, isBadTurn, type Behaviour } from './behaviour.ts'

const MAX_TURNS = 100_000
const NONE: Behaviour = {}

/** Merges the behaviours for a request. Later ones win: defaults, credential, script, request. */
export class Behaviours {
  readonly #initial: Behaviour
  #defaults: Behaviour
  #keys = new Map<string, Behaviour>()
  /** Defaults and key merged, by credential. Every change clears it. */
  #merged = new Map<string, Behaviour>()
  /** Requests of a credential so far; counted only for behaviours with `failTimes` or `flap`. */
  #turns = new Map<string, number>()
  #script: Behaviour[] = []

  constructor(initial: Behaviour) {
    this.#initial = initial
    this.#defaults = initial
  }

  configureKey(credential: string, behaviour: Behaviour): void {
    this.#keys.set(credential, behaviour)
    this.#turns.delete(credential)
    this.#merged.clear()
  }

  setDefaults(behaviour: Behaviour): void {
    this.#defaults = behaviour
    this.#turns.clear()
    this.#merged.clear()
  }

  script(behaviours: readonly Behaviour[]): void {
    this.#script.push(...behaviours)
  }

  reset(): void {
    this.#defaults = this.#initial
    this.#keys.clear()
    this.#merged.clear()
    this.#turns.clear()
    this.#script = []
  }

  /** Whether the next request of this credential is cut off before its body is read. */
  cutsAtHead(credential: string): boolean {
    const base = this.#base(credential)
    const next = this.#script[0]
    const fault = next?.fault ?? base.fault
    return fault === 'accept-close' && isBadTurn(base, this.#turns.get(credential) ?? 0)
  }

  /** The behaviour for one request. Consumes a turn of the credential and a behaviour of the script. */
  take(credential: string, ofRequest: Behaviour | null): Behaviour {
    let behaviour = this.#base(credential)
    const scripted = this.#script.shift()
    if (scripted !== undefined || ofRequest !== null) behaviour = { ...behaviour, ...scripted, ...ofRequest }
    if (behaviour.failTimes === undefined && behaviour.flap === undefined) return behaviour
    const turn = this.#turns.get(credential) ?? 0
    if (this.#turns.size > MAX_TURNS) this.#turns.clear()
    this.#turns.set(credential, turn + 1)
    return isBadTurn(behaviour, turn) ? behaviour : calmed(behaviour)
  }

  #base(credential: string): Behaviour {
    const key = this.#keys.get(credential)
    if (key === undefined) return this.#defaults
    const known = this.#merged.get(credential)
    if (known !== undefined) return known
    const merged = { ...this.#defaults, ...key }
    this.#merged.set(credential, merged)
    return merged
  }
}

export { NONE as HEALTHY }
