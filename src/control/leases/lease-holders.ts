import { HolderReplies } from './holder-replies.ts'
import { LeaseUnit } from './lease-unit.ts'

/** One front of this machine, or all of them, as one that holds leases. */
export interface Holder {
  readonly name: string
  readonly units: Map<string, LeaseUnit>
  readonly replies: HolderReplies
  /** The outage count at which the holder said what it holds. Its earlier asks do not count any more. */
  outages: number
  /** The outage count at which the holder had also said what it used meanwhile. */
  toldOutages: number
  /** Counts how often the holder said what it holds. An answer to an earlier ask is not for it any more. */
  session: number
  epoch: string | null
  isGone: boolean
  /** The journal of the front. */
  writer: string
}

/** Holder name that stands for all fronts of this machine. */
export const EVERYBODY = '*'

/** The holders of this machine, and their units: one for each allowance that a holder has something to say about. */
export class LeaseHolders {
  readonly #holders = new Map<string, Holder>()
  readonly #fullName: (name: string) => string

  /** @param fullName what Redis calls a holder of this machine */
  constructor(fullName: (name: string) => string) {
    this.#fullName = fullName
  }

  find(name: string): Holder | undefined {
    return this.#holders.get(name)
  }

  /** The holder that Redis calls so. */
  named(fullName: string): Holder | undefined {
    return this.#holders.get(fullName.slice(this.#fullName('').length))
  }

  all(): Holder[] {
    return [...this.#holders.values()]
  }

  /** The units of all holders. */
  *units(): Iterable<readonly [Holder, LeaseUnit]> {
    for (const holder of this.#holders.values()) for (const unit of holder.units.values()) yield [holder, unit]
  }

  /** The holder of this name, made where there is none. */
  holder(name: string): Holder {
    let holder = this.#holders.get(name)
    if (holder === undefined) {
      const counts = { outages: -1, toldOutages: -1, session: 0 }
      holder = {
        name,
        units: new Map(),
        replies: new HolderReplies(),
        ...counts,
        epoch: null,
        isGone: false,
        writer: name,
      }
      this.#holders.set(name, holder)
    }
    return holder
  }

  /** The holder's unit for this allowance, made where there is none. */
  unit({ name, units }: Holder, allowance: string): LeaseUnit {
    let unit = units.get(allowance)
    if (unit === undefined) {
      unit = new LeaseUnit(name, this.#fullName(name), allowance)
      units.set(allowance, unit)
    }
    return unit
  }

  /** Removes a unit, and its holder with the last one if the holder is gone. */
  drop(unit: LeaseUnit): void {
    const holder = this.#holders.get(unit.name)
    holder?.units.delete(unit.allowance)
    this.dropIfGone(holder)
  }

  dropIfGone(holder: Holder | undefined): void {
    if (holder?.isGone === true && holder.units.size === 0) this.#holders.delete(holder.name)
  }
}
