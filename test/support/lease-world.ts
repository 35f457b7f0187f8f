import { randomUUID } from 'node:crypto'
import type { LeaseFarewell, LeaseReply, LeaseRequest, LeaseResume } from '../../src/shared/core/allowance.ts'
import type { Authority, SettledSpend } from '../../src/control/leases/authority.ts'
import { InProcessAuthority } from '../../src/control/leases/in-process-authority.ts'
import { RedisAuthority } from '../../src/control/leases/redis-authority.ts'
import { LeaseBook } from '../../src/front/limits/lease-book.ts'
import type { LeaseLane } from './lease-lane.ts'

interface Event {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

const TICK_MS = LeaseBook.TICK_MS
/** Tick intervals of `rest`: `first` for `FIRST_REST_MS`, then `later`. */
const REST_TICK_MS = { first: 1_000, later: 60_000 } as const
const FIRST_REST_MS = 300_000
const NO_BUDGETS: SettledSpend = { read: () => Promise.resolve(new Map()) }
const LEASE_KEEP_MS = 20_000

/** One front of the world. */
export interface WorldFront {
  readonly name: string
  readonly node: WorldNode
  book: LeaseBook
  /** Number of crashes; running requests end with a crash. */
  incarnation: number
  /** Its event loop is blocked until this time. */
  stalledUntilMs: number
}

/** One machine: its fronts and their authority. */
export interface WorldNode {
  readonly name: string
  readonly fronts: WorldFront[]
  /** Null while the control process is away. */
  authority: Authority | null
  /** Number of ends of the control process. */
  restarts: number
  /** Milliseconds by which its clock is ahead. */
  skewMs: number
}

export interface LeaseWorldOptions {
  /** Fronts of each machine. */
  readonly fronts: number
  readonly nodes?: number
  readonly random: () => number
  readonly startMs?: number
  readonly delayMs?: () => number
  /** Longest time, in milliseconds, until a front finds a new control process; 500 by default. */
  readonly greetMs?: number
  /** The lane to a Redis that all machines share. Without it there is one machine with an in-process authority. */
  readonly lane?: LeaseLane
  /** Largest difference between the clocks of machines. */
  readonly skewMs?: number
  /** Share of the Redis scripts whose request or answer is lost. */
  readonly lossRate?: number
  /** The settled spend that the control process of a machine reads. */
  readonly budgets?: (node: WorldNode) => SettledSpend
}

/**
 * Fronts and their authorities in simulated time. Messages take time, stay in order, and are lost with a connection. Only a Redis
 * that runs scripts takes real time.
 */
export class LeaseWorld {
  readonly nodes: WorldNode[] = []
  readonly fronts: WorldFront[] = []
  nowMs: number
  /** Every script fails. */
  redisAway = false
  readonly faults: unknown[] = []
  readonly #options: LeaseWorldOptions
  readonly #random: () => number
  readonly #delayMs: () => number
  readonly #events: Event[] = []
  readonly #lineFreeMs = new Map<string, number>()
  readonly #size: number
  /** Scripts that run in Redis now. */
  readonly #running = new Set<Promise<void>>()
  readonly #prefix: string
  #order = 0
  #tickMs = TICK_MS

  constructor(options: LeaseWorldOptions) {
    this.#options = options
    this.nowMs = options.startMs ?? 1_700_000_000_000
    this.#random = options.random
    this.#delayMs = options.delayMs ?? (() => 0.05 + this.#random() * 5)
    this.#size = options.fronts * (options.nodes ?? 1)
    this.#prefix = `world-${randomUUID()}`
    for (let i = 0; i < (options.nodes ?? 1); i++) this.#makeNode(`node-${i}`)
  }

  /** Whether the machines share a Redis. */
  get isShared(): boolean {
    return this.#options.lane !== undefined
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

  /** Runs events until `forMs` of simulated time have passed. */
  async run(forMs: number): Promise<void> {
    const endMs = this.nowMs + forMs
    for (let event = this.#events.at(-1); event !== undefined && event.atMs <= endMs; event = this.#events.at(-1)) {
      this.#events.pop()
      this.nowMs = event.atMs
      event.run()
      // Promises that the event resolved continue before the next event.
      await allPromises()
      while (this.#running.size > 0) await Promise.all(this.#running)
    }
    this.nowMs = endMs
  }

  /** Like `run`, with fewer ticks, so that days pass quickly; the last second has the usual ticks. */
  async rest(forMs: number): Promise<void> {
    const lastMs = Math.min(forMs, REST_TICK_MS.first)
    const firstMs = Math.min(forMs - lastMs, FIRST_REST_MS)
    this.#tickMs = REST_TICK_MS.first
    await this.run(firstMs)
    const laterMs = Math.max(0, forMs - firstMs - lastMs - REST_TICK_MS.later)
    this.#tickMs = REST_TICK_MS.later
    await this.run(laterMs)
    this.#tickMs = TICK_MS
    await this.run(forMs - firstMs - laterMs)
  }

  /** Waits until all authorities serve. */
  async settle(): Promise<void> {
    await this.run(this.#options.lane === undefined ? 100 : 4_000)
  }

  /** Ends the control process of a machine; another starts after `awayMs`. */
  restartAuthority(awayMs: number, node: WorldNode = this.#first()): void {
    node.restarts += 1
    node.authority = null
    for (const front of node.fronts) {
      const { book } = front
      this.#whenAwake(front, () => {
        book.unlinked()
      })
    }
    this.after(awayMs, () => {
      if (node.authority !== null) return
      const authority = this.#startAuthority(node, true)
      for (const front of node.fronts) {
        this.after(this.#random() * (this.#options.greetMs ?? 500), () => {
          this.#whenAwake(front, () => {
            this.#greet(front)
          })
        })
      }
      this.after(2_000, () => {
        if (authority instanceof InProcessAuthority) authority.open()
      })
    })
  }

  /** Blocks a front for a time: its ticks and its messages are late. */
  stall(front: WorldFront, forMs: number): void {
    front.stalledUntilMs = Math.max(front.stalledUntilMs, this.nowMs + forMs)
  }

  #whenAwake(front: WorldFront, run: () => void): void {
    if (this.nowMs >= front.stalledUntilMs) run()
    else {
      this.after(front.stalledUntilMs - this.nowMs, () => {
        this.#whenAwake(front, run)
      })
    }
  }

  /** Ends a front with all its leases; an empty one replaces it. */
  crash(front: WorldFront): void {
    front.node.authority?.gone(this.#lineOf(front))
    this.#replace(front)
  }

  /** Ends a machine with all its leases; it comes back empty after `awayMs`. */
  crashNode(node: WorldNode, awayMs: number): void {
    node.restarts += 1
    node.authority = null
    for (const front of node.fronts) this.#replace(front)
    this.after(awayMs, () => {
      this.#startAuthority(node, false)
    })
  }

  #replace(front: WorldFront): void {
    front.incarnation += 1
    front.book = this.#makeBook(front)
    this.#start(front)
  }

  #first(): WorldNode {
    return this.nodes[0] as WorldNode
  }

  #lineOf(front: WorldFront): string {
    return `${front.name}.${front.incarnation}.${front.node.restarts}`
  }

  #makeNode(name: string): void {
    const skewMs = (this.#random() * 2 - 1) * (this.#options.skewMs ?? 0)
    const node: WorldNode = { name, fronts: [], authority: null, restarts: 0, skewMs }
    this.nodes.push(node)
    this.#startAuthority(node, false)
    for (let i = 0; i < this.#options.fronts; i++) {
      const named = { name: `${name}-front-${i}`, node, incarnation: 0, stalledUntilMs: -Infinity }
      const front: WorldFront = { ...named, book: null as unknown as LeaseBook }
      front.book = this.#makeBook(front)
      node.fronts.push(front)
      this.fronts.push(front)
      this.#start(front)
    }
  }

  #startAuthority(node: WorldNode, isRestart: boolean): Authority {
    const { restarts } = node
    const reply = (line: string, message: LeaseReply): void => {
      const front = node.fronts.find((one) => this.#lineOf(one) === line)
      if (front === undefined) return
      const copy = structuredClone(message)
      this.#carry(`down ${line}`, () => {
        this.#whenAwake(front, () => {
          if (this.#lineOf(front) === line) front.book.receive(copy)
        })
      })
    }
    const { lane } = this.#options
    const authority =
      lane === undefined
        ? new InProcessAuthority({
            clock: this.clock,
            holders: () => this.#size,
            closed: isRestart,
            budgets: this.#options.budgets?.(node) ?? NO_BUDGETS,
            reply,
          })
        : this.#redisAuthority(node, lane, isRestart, reply)
    node.authority = authority
    if (authority instanceof RedisAuthority) {
      const tick = (): void => {
        if (node.restarts !== restarts) return
        authority.tick()
        this.after(this.#tickMs, tick)
      }
      this.after(this.#random() * TICK_MS, tick)
    }
    return authority
  }

  #redisAuthority(
    node: WorldNode,
    lane: LeaseLane,
    isRestart: boolean,
    reply: (line: string, message: LeaseReply) => void,
  ): RedisAuthority {
    const { restarts } = node
    const isThere = (): boolean => node.restarts === restarts
    const toFronts = (act: (front: WorldFront) => void): void => {
      for (const front of node.fronts) {
        const line = this.#lineOf(front)
        this.#carry(`down ${line}`, () => {
          this.#whenAwake(front, () => {
            if (this.#lineOf(front) === line) act(front)
          })
        })
      }
    }
    const authority = new RedisAuthority({
      clock: this.#clockOf(node),
      prefix: this.#prefix,
      node: node.name,
      incarnation: restarts,
      fronts: () => this.#options.fronts,
      isRestart,
      budgets: this.#options.budgets?.(node) ?? NO_BUDGETS,
      reply,
      onHere: () => {
        toFronts((front) => {
          this.#greet(front)
        })
      },
      onAway: () => {
        toFronts((front) => {
          front.book.lost()
        })
      },
      onHolders: (holders) => {
        toFronts((front) => {
          front.book.setHolders(holders)
        })
      },
      onFault: (cause) => this.faults.push(cause),
      soon: (flush) => {
        this.after(0.05, () => {
          if (isThere()) flush()
        })
      },
      redisClock: () => 0,
      runner: {
        run: (calls) =>
          new Promise((resolve) => {
            const fails = (): void => {
              this.after(100, () => {
                if (isThere()) resolve(calls.map(() => new Error('no answer')))
              })
            }
            const isLost = (): boolean => this.redisAway || this.#random() < (this.#options.lossRate ?? 0)
            this.#carry(`to redis ${node.name}.${restarts}`, () => {
              if (isLost()) return fails()
              const running = lane.run(calls, this.nowMs).then(({ answers, pokes }) => {
                for (const poke of pokes) this.#poke(poke.allowance, poke.holder)
                if (isLost()) return fails()
                this.after(this.#delayMs(), () => {
                  if (isThere()) resolve(answers)
                })
              })
              this.#running.add(running)
              void running.finally(() => this.#running.delete(running))
            })
          }),
      },
    })
    return authority
  }

  #poke(allowance: string, holder: string): void {
    const [name = ''] = holder.split('/')
    if (this.#random() < (this.#options.lossRate ?? 0)) return
    this.after(this.#delayMs(), () => {
      const authority = this.nodes.find((node) => node.name === name)?.authority
      if (authority instanceof RedisAuthority) authority.poked(allowance, holder)
    })
  }

  #clockOf(node: WorldNode): LeaseWorld['clock'] {
    return {
      now: () => this.nowMs + node.skewMs,
      monotonicUs: () => Math.round(this.nowMs * 1000),
    }
  }

  #makeBook(front: WorldFront): LeaseBook {
    const { incarnation } = front
    return new LeaseBook({
      clock: this.#clockOf(front.node),
      processes: this.#size,
      writer: writerOf(front),
      leaseKeepMs: this.#options.lane === undefined ? null : LEASE_KEEP_MS,
      send: (message: LeaseRequest | LeaseResume | LeaseFarewell) => {
        const line = this.#lineOf(front)
        const { authority } = front.node
        const copy = structuredClone(message)
        this.#carry(`up ${line}`, () => {
          if (authority === null || authority !== front.node.authority || this.#lineOf(front) !== line) return
          if (copy.type === 'lease-resume') authority.resume(line, copy)
          else if (copy.type === 'lease-farewell') authority.farewell(copy)
          else authority.exchange(line, copy)
        })
        return true
      },
      soon: (flush) => {
        this.after(0.05, () => {
          if (front.incarnation === incarnation) flush()
        })
      },
    })
  }

  #start(front: WorldFront): void {
    const { book } = front
    this.after(0, () => {
      this.#greet(front)
    })
    let dueMs = Infinity
    const tickWithin = (ms: number): void => {
      const atMs = this.nowMs + Math.max(ms, front.stalledUntilMs - this.nowMs)
      if (atMs >= dueMs) return
      dueMs = atMs
      this.after(atMs - this.nowMs, () => {
        if (front.book !== book || dueMs !== atMs) return
        dueMs = Infinity
        if (this.nowMs >= front.stalledUntilMs) book.tick()
        tickWithin(Math.max(this.#tickMs, book.isAtRest ? LeaseBook.REST_MS : 0))
      })
    }
    book.onBusy(() => {
      tickWithin(LeaseBook.TICK_MS)
    })
    tickWithin(this.#random() * LeaseBook.TICK_MS)
  }

  #greet(front: WorldFront): void {
    const epoch = front.node.authority?.epoch ?? null
    if (epoch !== null) front.book.greeted({ type: 'lease-epoch', epoch })
  }

  /** Delivers messages of one line in the order in which they were sent. */
  #carry(line: string, deliver: () => void): void {
    const atMs = Math.max(this.nowMs + this.#delayMs(), this.#lineFreeMs.get(line) ?? 0)
    this.#lineFreeMs.set(line, atMs)
    this.after(atMs - this.nowMs, deliver)
  }
}

/** The name of a front's journal; each incarnation has a new one. */
export function writerOf({ name, incarnation }: WorldFront): string {
  return `${name}-${incarnation}`
}

/** Resolves when no promise has anything left to do: Node runs a tick only after all microtasks. */
function allPromises(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve)
  })
}
