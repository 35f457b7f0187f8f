import type { LeaseReply, LeaseRequest, LeaseResume } from '../../src/core/allowance.ts'
import type { BudgetTruth } from '../../src/leases/authority.ts'
import { InProcessAuthority } from '../../src/leases/in-process-authority.ts'
import { LeaseBook } from '../../src/limits/lease-book.ts'

interface Event {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

const TICK_MS = 50
const NO_BUDGETS: BudgetTruth = { read: () => Promise.resolve(new Map()) }

/** One front of the world, with its line to the authority. */
export interface WorldFront {
  readonly name: string
  book: LeaseBook
  /** Raised with every crash: what was under way is gone. */
  incarnation: number
}

/**
 * Fronts and their authority in simulated time: messages take time, stay in order, and are lost with a connection. Nothing here
 * waits for real time.
 */
export class LeaseWorld {
  readonly fronts: WorldFront[] = []
  authority: InProcessAuthority
  nowMs: number
  readonly #random: () => number
  readonly #delayMs: () => number
  readonly #events: Event[] = []
  readonly #lineFreeMs = new Map<string, number>()
  readonly #size: number
  readonly #budgets: BudgetTruth
  #order = 0
  #restarts = 0

  constructor(options: {
    fronts: number
    random: () => number
    startMs?: number
    delayMs?: () => number
    budgets?: BudgetTruth
  }) {
    this.nowMs = options.startMs ?? 1_700_000_000_000
    this.#random = options.random
    this.#delayMs = options.delayMs ?? (() => 0.05 + this.#random() * 5)
    this.#size = options.fronts
    this.#budgets = options.budgets ?? NO_BUDGETS
    this.authority = this.#makeAuthority(false)
    for (let i = 0; i < options.fronts; i++) this.fronts.push(this.#makeFront(`front-${i}`))
  }

  readonly clock = { now: (): number => this.nowMs, monotonicUs: (): number => Math.round(this.nowMs * 1000) }

  after(ms: number, run: () => void): void {
    this.#order += 1
    const event = { atMs: this.nowMs + ms, order: this.#order, run }
    let low = 0
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#events[middle] as Event
      if (other.atMs > event.atMs || (other.atMs === event.atMs && other.order > event.order)) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
  }

  /** Runs events until `untilMs` of simulated time have passed. */
  async run(forMs: number): Promise<void> {
    const endMs = this.nowMs + forMs
    for (let event = this.#events.at(-1); event !== undefined && event.atMs <= endMs; event = this.#events.at(-1)) {
      this.#events.pop()
      this.nowMs = event.atMs
      event.run()
      // Promises resolved by the event go on before the next one.
      for (let i = 0; i < 4; i++) await Promise.resolve()
    }
    this.nowMs = endMs
  }

  /** The control process ends, and another begins a while later. */
  restartAuthority(awayMs: number): void {
    this.#restarts += 1
    for (const front of this.fronts) front.book.lost()
    this.after(awayMs, () => {
      this.authority = this.#makeAuthority(true)
      for (const front of this.fronts) {
        this.after(this.#random() * 500, () => {
          this.#greet(front)
        })
      }
      const { authority } = this
      this.after(2_000, () => {
        authority.open()
      })
    })
  }

  /** A front ends with all that it holds; an empty one takes its place. */
  crash(front: WorldFront): void {
    this.authority.gone(this.#lineOf(front))
    front.incarnation += 1
    front.book = this.#makeBook(front)
    this.#start(front)
  }

  #lineOf(front: WorldFront): string {
    return `${front.name}/${front.incarnation}/${this.#restarts}`
  }

  #makeAuthority(closed: boolean): InProcessAuthority {
    const restarts = this.#restarts
    return new InProcessAuthority({
      clock: this.clock,
      holders: this.#size,
      closed,
      budgets: this.#budgets,
      reply: (line, reply: LeaseReply) => {
        const front = this.fronts.find((one) => this.#lineOf(one) === line)
        if (front === undefined) return
        this.#carry(`down ${line}`, () => {
          if (this.#restarts === restarts && this.#lineOf(front) === line) front.book.receive(structuredClone(reply))
        })
      },
    })
  }

  #makeFront(name: string): WorldFront {
    const front: WorldFront = {
      name,
      incarnation: 0,
      book: null as unknown as LeaseBook,
    }
    front.book = this.#makeBook(front)
    this.#start(front)
    return front
  }

  #makeBook(front: WorldFront): LeaseBook {
    return new LeaseBook({
      clock: this.clock,
      processes: this.#size,
      writer: writerOf(front),
      send: (message: LeaseRequest | LeaseResume) => {
        const line = this.#lineOf(front)
        const { authority } = this
        this.#carry(`up ${line}`, () => {
          if (authority !== this.authority || this.#lineOf(front) !== line) return
          if (message.type === 'lease-resume') authority.resume(line, structuredClone(message))
          else authority.exchange(line, structuredClone(message))
        })
        return true
      },
      soon: (flush) => {
        this.after(0.05, flush)
      },
    })
  }

  #start(front: WorldFront): void {
    const { book } = front
    this.after(0, () => {
      this.#greet(front)
    })
    const tick = (): void => {
      if (front.book !== book) return
      book.tick()
      this.after(TICK_MS, tick)
    }
    this.after(this.#random() * TICK_MS, tick)
  }

  #greet(front: WorldFront): void {
    front.book.greeted({ type: 'lease-epoch', epoch: this.authority.epoch })
  }

  /** Messages of one line arrive in the order in which they left. */
  #carry(line: string, deliver: () => void): void {
    const atMs = Math.max(this.nowMs + this.#delayMs(), this.#lineFreeMs.get(line) ?? 0)
    this.#lineFreeMs.set(line, atMs)
    this.after(atMs - this.nowMs, deliver)
  }
}

/** The journal of a front, a new one with each incarnation. */
export function writerOf({ name, incarnation }: WorldFront): string {
  return `${name}-${incarnation}`
}
