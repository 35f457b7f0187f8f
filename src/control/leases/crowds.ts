import type { LeaseReply } from '../../shared/core/allowance.ts'

export interface CrowdsOptions {
  readonly reply: (front: string, reply: LeaseReply) => void
  /** Fronts of this machine that are connected. */
  readonly fronts: () => Iterable<string>
}

interface Crowd {
  /** Fronts that have been told, and have not said yet that they heard it. */
  readonly unheard: Set<string>
  /** Redis waits for this machine. */
  isAwaited: boolean
}

/**
 * The allowances of which other machines use, or are about to use, the half that is set aside for outages. Every front of this machine
 * knows them; Redis is told once all have heard of one.
 */
export class Crowds {
  readonly #options: CrowdsOptions
  readonly #crowds = new Map<string, Crowd>()

  constructor(options: CrowdsOptions) {
    this.#options = options
  }

  knows(allowance: string): boolean {
    return this.#crowds.has(allowance)
  }

  /** Takes the answer of Redis about an allowance, and tells the fronts when it is news. */
  learn(allowance: string, crowd: 'roomy' | 'heard' | 'unheard'): void {
    const known = this.#crowds.get(allowance)
    if (crowd === 'roomy') {
      if (!this.#crowds.delete(allowance)) return
      for (const front of this.#options.fronts()) this.#tell(front, { roomy: [allowance] })
      return
    }
    if (known === undefined) {
      const unheard = new Set(this.#options.fronts())
      this.#crowds.set(allowance, { unheard, isAwaited: crowd === 'unheard' })
      for (const front of unheard) this.#tell(front, { crowded: [allowance] })
    } else known.isAwaited = crowd === 'unheard'
  }

  /** A front is connected and says what it knows; it is told of the rest. Gives what nobody else here knew. */
  connected(front: string, knows: readonly string[]): string[] {
    const known = new Set(knows)
    const news = knows.filter((allowance) => !this.#crowds.has(allowance))
    for (const allowance of news) {
      const unheard = new Set(this.#options.fronts())
      unheard.delete(front)
      this.#crowds.set(allowance, { unheard, isAwaited: false })
      for (const other of unheard) this.#tell(other, { crowded: [allowance] })
    }
    const untold: string[] = []
    for (const [allowance, { unheard }] of this.#crowds) {
      if (known.has(allowance)) unheard.delete(front)
      else {
        unheard.add(front)
        untold.push(allowance)
      }
    }
    if (untold.length > 0) this.#tell(front, { crowded: untold })
    return news
  }

  heard(front: string, allowances: readonly string[]): void {
    for (const allowance of allowances) this.#crowds.get(allowance)?.unheard.delete(front)
  }

  gone(front: string): void {
    for (const { unheard } of this.#crowds.values()) unheard.delete(front)
  }

  /** Allowances that Redis may be told of: all fronts have heard. */
  takeHeard(isSettled: (allowance: string) => boolean): string[] {
    const heard: string[] = []
    for (const [allowance, crowd] of this.#crowds) {
      if (!crowd.isAwaited || crowd.unheard.size > 0 || !isSettled(allowance)) continue
      crowd.isAwaited = false
      heard.push(allowance)
    }
    return heard
  }

  #tell(front: string, news: Pick<LeaseReply, 'crowded' | 'roomy'>): void {
    this.#options.reply(front, {
      type: 'lease-reply',
      sequence: null,
      states: [],
      grants: [],
      reclaims: [],
      reclaimsOver: [],
      ...news,
    })
  }
}
