import { GatewayError } from '../../src/shared/core/errors.ts'
import type { Principal } from '../../src/shared/core/principal.ts'
import { Admissions } from '../../src/front/limits/admissions.ts'
import type { LeaseBook } from '../../src/front/limits/lease-book.ts'
import { BudgetBooks } from './budget-books.ts'
import { entryKey } from './entry-key.ts'
import type { LeaseLane } from './lease-lane.ts'
import { LeaseWorld } from './lease-world.ts'
import type { WorldFront } from './lease-world.ts'
import { SeededRandom } from './seeded-random.ts'

const WINDOW_MS = 60_000
const AMPLE = 1_000_000_000_000
const BUDGET_EVERY_MS = 40
/** A budget counts as used up after so many refusals in a row. */
const USED_UP = 200
/** Upper bounds of the groups in `missing`, in seconds. */
const PHASES = [2, 8, 20, 60]
/** Demand as a factor of the limit; it changes from time to time. */
const DEMANDS = [0.3, 0.8, 0.95, 1.2, 1.5, 2.5]

export interface SimulationOptions {
  readonly seed: number
  readonly lane: LeaseLane
  readonly nodes: number
  /** Fronts of each machine. */
  readonly fronts: number
  /** Rate limits in requests per minute, one key for each. */
  readonly limits: readonly number[]
  /** Concurrency limits, one key for each. */
  readonly places: readonly number[]
  /** Monthly budgets, one key for each; a month ends when its budget is used up. */
  readonly budgets: readonly number[]
  /** The simulation ends after so many admitted requests. */
  readonly admissions: number
  readonly faults: {
    /** Mean milliseconds between two crashes of fronts, whole machines and control processes. */
    readonly crashEveryMs: number
    /** Mean milliseconds between two outages of Redis, in addition to 90 s (or `calmMs`) without an outage. */
    readonly outageEveryMs: number
    readonly calmMs?: number
    /** Longest outage in milliseconds; 12 300 by default. */
    readonly longestOutageMs?: number
    readonly lossRate: number
    readonly skewMs: number
  } | null
}

export interface SimulationResult {
  readonly admitted: number
  readonly simulatedMs: number
  /** Requests in the fullest 60 seconds ÷ the limit, largest over all keys. */
  readonly worstWindow: number
  /** Admitted requests of all keys ÷ those that an ideal limiter, with immediate global knowledge, would have admitted. */
  readonly share: number
  /** The same for each key. */
  readonly shares: readonly number[]
  /** The same ratio for `PartedLimiter`, which is ideal except in outages, when each front has a part of the limit. */
  readonly possible: number
  /** Shortfall against the ideal limiter ÷ its total, by seconds since Redis went away or came back. */
  readonly missing: Readonly<Record<string, number>>
  /** Largest concurrency ÷ the concurrency limit, over all keys with one. */
  readonly mostAtOnce: number
  /** Largest sum of cost and running reservations ÷ limit, over all budgets. */
  readonly mostSpent: number
  /** Number of budgets that were used up. */
  readonly months: number
  /** Smallest use of these budgets ÷ the limit. */
  readonly leastSpent: number
  /** Smallest part of the limit that one front can have after all load has ended, over all keys. */
  readonly back: number
  readonly scripts: number
}

/** A growing list of ascending times. */
class Times {
  #values = new Float64Array(1024)
  #size = 0
  #first = 0
  most = 0

  get size(): number {
    return this.#size
  }

  /** Number of times in the 60 seconds before `atMs`. */
  recent(atMs: number): number {
    while (this.#first < this.#size && (this.#values[this.#first] ?? 0) <= atMs - WINDOW_MS) this.#first += 1
    return this.#size - this.#first
  }

  add(atMs: number): void {
    if (this.#size === this.#values.length) {
      const larger = new Float64Array(this.#size * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#size] = atMs
    this.#size += 1
    this.most = Math.max(this.most, this.recent(atMs))
  }
}

/**
 * Admits by the use of all fronts while Redis answers. While it is away, each front has its own use and a part of the rest,
 * in proportion to its demand.
 */
class PartedLimiter {
  readonly #limit: number
  readonly #all = new Times()
  readonly #used: Times[]
  readonly #asked: Times[]
  #parts: number[] | null = null

  constructor(limit: number, fronts: number) {
    this.#limit = limit
    this.#used = Array.from({ length: fronts }, () => new Times())
    this.#asked = Array.from({ length: fronts }, () => new Times())
  }

  get size(): number {
    return this.#all.size
  }

  ask(front: number, isAway: boolean, atMs: number): void {
    this.#asked[front]?.add(atMs)
    if (!isAway) this.#parts = null
    else this.#parts ??= this.#split(atMs)
    const used = this.#used[front] as Times
    const isLeft =
      this.#parts === null ? this.#all.recent(atMs) < this.#limit : used.recent(atMs) < (this.#parts[front] ?? 0)
    if (!isLeft) return
    used.add(atMs)
    this.#all.add(atMs)
  }

  #split(atMs: number): number[] {
    const asked = this.#asked.map((times) => times.recent(atMs) + 1)
    const sum = asked.reduce((all, one) => all + one, 0)
    const left = this.#limit - this.#all.recent(atMs)
    let before = 0
    return this.#used.map((times, front) => {
      const from = Math.round((left * before) / sum)
      before += asked[front] ?? 0
      return times.recent(atMs) + Math.round((left * before) / sum) - from
    })
  }
}

/** Simulates many machines under changing load and faults, in simulated time, on a real Redis. */
export async function simulateLeases(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, lane, nodes, fronts, faults } = options
  const random = new SeededRandom(seed)
  const draw = (meanMs: number): number => -Math.log(1 - random.next()) * meanMs
  const books: BudgetBooks = new BudgetBooks(() => world, random)
  const world: LeaseWorld = new LeaseWorld({
    fronts,
    nodes,
    lane,
    budgets: (node) => books.truthOf(node),
    random: () => random.next(),
    skewMs: faults?.skewMs ?? 0,
    lossRate: faults?.lossRate ?? 0,
  })
  await world.settle()
  const startMs = world.nowMs
  let turnedMs = -Infinity
  const missing: Record<string, number> = {}
  const miss = (amount: number): void => {
    const seconds = (world.nowMs - turnedMs) / 1_000
    const bound = PHASES.find((phase) => seconds < phase)
    const phase = bound === undefined ? 'later' : `< ${bound} s`
    const name = `${world.redisAway ? 'away' : 'here'} ${phase}`
    missing[name] = (missing[name] ?? 0) + amount
  }
  const limiters = new WeakMap<LeaseBook, Admissions>()
  const limiterOf = (book: LeaseBook): Admissions => {
    let limiter = limiters.get(book)
    if (limiter === undefined) limiters.set(book, (limiter = new Admissions(book)))
    return limiter
  }
  /** A front serves no request before its first connection to a control process. */
  const started = new WeakSet<LeaseBook>()
  const anyFront = (favourite: number | null): WorldFront | undefined => {
    const front = world.fronts[favourite ?? random.between(0, nodes * fronts - 1)]
    if (front?.book.connected === true) started.add(front.book)
    return front !== undefined && started.has(front.book) ? front : undefined
  }
  let isOver = false

  const windows = options.limits.map((limit, index) => {
    const caller = principal(`window-${index}`, { requestsPerMinute: limit })
    const admitted = new Times()
    const exact = new Times()
    const parted = new PartedLimiter(limit, nodes * fronts)
    let demand = 1
    const change = (): void => {
      demand = DEMANDS[random.between(0, DEMANDS.length - 1)] ?? 1
      world.after(draw(30_000), change)
    }
    change()
    const favourite = random.between(0, nodes * fronts - 1)
    const one = (): void => {
      if (isOver) return
      world.after(draw(WINDOW_MS / (limit * demand)), one)
      const front = anyFront(random.next() < 0.3 ? favourite : null)
      if (front === undefined) return
      parted.ask(world.fronts.indexOf(front), world.redisAway, world.nowMs)
      if (exact.recent(world.nowMs) < limit) {
        exact.add(world.nowMs)
        miss(1)
      }
      admit(limiterOf(front.book), caller, front.node.skewMs, () => {
        admitted.add(world.nowMs)
        miss(-1)
      })
    }
    world.after(draw(1_000), one)
    return { limit, caller, admitted, exact, parted }
  })

  const admit = (limiter: Admissions, caller: Principal, skewMs: number, onAdmitted: () => void): void => {
    try {
      const admission = limiter.admit(caller, world.nowMs + skewMs)
      if (!(admission instanceof Promise)) {
        onAdmitted()
        admission.settle(0, world.nowMs + skewMs)
        return
      }
      admission.then(
        (late) => {
          onAdmitted()
          late.settle(0, world.nowMs + skewMs)
        },
        (cause: unknown) => {
          if (!(cause instanceof GatewayError)) world.faults.push(cause)
        },
      )
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause
    }
  }

  const slots = options.places.map((limit, index) => {
    const caller = principal(`places-${index}`, { concurrency: limit })
    const usage = { limit, caller, most: 0, admitted: 0 }
    /** Running requests by front and incarnation; they end with it. */
    const running = new Map<string, number>()
    const one = (): void => {
      if (isOver) return
      world.after(draw(400 / limit), one)
      const front = anyFront(null)
      if (front === undefined) return
      const { skewMs } = front.node
      const { incarnation } = front
      const name = `${front.name}/${incarnation}`
      const begin = async (): Promise<void> => {
        const admission = await limiterOf(front.book).admit(caller, world.nowMs + skewMs)
        if (front.incarnation !== incarnation) return
        usage.admitted += 1
        running.set(name, (running.get(name) ?? 0) + 1)
        let together = 0
        for (const other of world.fronts) together += running.get(`${other.name}/${other.incarnation}`) ?? 0
        usage.most = Math.max(usage.most, together)
        world.after(random.next() * 1_000, () => {
          running.set(name, (running.get(name) ?? 0) - 1)
          admission.settle(0, world.nowMs + skewMs)
        })
      }
      begin().catch((cause: unknown) => {
        if (!(cause instanceof GatewayError)) world.faults.push(cause)
      })
    }
    world.after(draw(1_000), one)
    return usage
  })

  let months = 0
  let leastSpent = 1
  for (const [index, limit] of options.budgets.entries()) {
    let month = 0
    let refused = 0
    const one = (): void => {
      if (isOver) return
      world.after(draw(BUDGET_EVERY_MS), one)
      const front = anyFront(null)
      if (front === undefined) return
      const allowance = `budget:money:key:budget-${index}:${month}`
      const worst = random.between(1, Math.max(1, Math.floor(limit / 500)))
      const cost = { worst, actual: random.between(0, worst), durationMs: random.next() * 3_000 }
      const of = month
      books.request(front, { allowance, limit }, cost).then(
        (isIn) => {
          if (of !== month) return
          refused = isIn ? 0 : refused + 1
          if (refused < USED_UP) return
          refused = 0
          month += 1
          months += 1
          leastSpent = Math.min(leastSpent, books.spentOf(allowance) / limit)
        },
        (cause: unknown) => world.faults.push(cause),
      )
    }
    world.after(draw(1_000), one)
  }

  if (faults !== null) {
    const crash = (): void => {
      if (isOver) return
      if (Number.isFinite(faults.crashEveryMs)) world.after(draw(faults.crashEveryMs), crash)
      const front = world.fronts[random.between(0, nodes * fronts - 1)]
      if (front === undefined) return
      const kind = random.next()
      if (front.node.authority === null) return
      if (kind < 0.5) {
        books.crashes(front)
        world.crash(front)
      } else if (kind < 0.8) world.restartAuthority(500 + random.next() * 3_000, front.node)
      else {
        for (const one of front.node.fronts) books.crashes(one)
        world.crashNode(front.node, 1_000 + random.next() * 30_000)
      }
    }
    if (Number.isFinite(faults.crashEveryMs)) world.after(draw(faults.crashEveryMs), crash)
    const outage = (): void => {
      if (isOver) return
      const lastsMs = 300 + random.next() * ((faults.longestOutageMs ?? 12_300) - 300)
      world.after(lastsMs + draw(faults.outageEveryMs) + (faults.calmMs ?? 90_000), outage)
      world.redisAway = true
      turnedMs = world.nowMs
      world.after(lastsMs, () => {
        world.redisAway = false
        turnedMs = world.nowMs
      })
    }
    if (Number.isFinite(faults.outageEveryMs)) world.after(draw(faults.outageEveryMs), outage)
  }

  const total = (): number => windows.reduce((sum, { admitted }) => sum + admitted.size, 0)
  while (total() < options.admissions) await world.run(1_000)
  isOver = true
  const simulatedMs = world.nowMs - startMs
  const worstWindow = Math.max(...windows.map(({ admitted, limit }) => admitted.most / limit))

  // After machines have come back and leases have expired, one front alone can have the whole of each limit.
  await world.run(140_000)
  let back = 1
  const [front] = world.fronts
  for (const { caller, limit } of [...windows, ...slots]) {
    const all = Math.min(limit, 5_000)
    let had = 0
    for (let attempt = 0; attempt < 10 && had < all; attempt += 1) {
      for (let missing = all - had; missing > 0; missing -= 1) {
        const begin = async (): Promise<void> => {
          if (front === undefined) return
          await limiterOf(front.book).admit(caller, world.nowMs + front.node.skewMs)
          had += 1
        }
        begin().catch(() => undefined)
      }
      await world.run(1_500)
    }
    back = Math.min(back, had / all)
  }
  if (world.faults.length > 0) throw world.faults[0]

  const sumOf = (sizeOf: (window: (typeof windows)[number]) => number): number =>
    windows.reduce((sum, window) => sum + sizeOf(window), 0)
  const exact = sumOf((window) => window.exact.size)
  return {
    admitted: total(),
    simulatedMs,
    worstWindow,
    share: total() / exact,
    shares: windows.map((window) => window.admitted.size / window.exact.size),
    possible: sumOf((window) => window.parted.size) / exact,
    missing: Object.fromEntries(Object.entries(missing).map(([phase, amount]) => [phase, amount / exact])),
    mostSpent: books.most,
    months,
    leastSpent,
    mostAtOnce: Math.max(0, ...slots.map(({ most, limit }) => most / limit)),
    back,
    scripts: lane.calls,
  }
}

function principal(id: string, limits: Partial<Principal['limits']>): Principal {
  return {
    generation: 0,
    key: entryKey({ id }),
    limits: { requestsPerMinute: AMPLE, tokensPerMinute: AMPLE, concurrency: AMPLE, ...limits },
    userLimits: null,
    enterpriseLimits: null,
    models: null,
    capture: null,
  }
}
