import { randomUUID } from 'node:crypto'
import type {
  LeaseFarewell,
  LeaseGrant,
  LeaseReply,
  LeaseRequest,
  LeaseResume,
  WindowCharges,
} from '../../shared/core/allowance.ts'
import { allowancesOf } from '../../shared/core/budget.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { Account } from './account.ts'
import type { PendingAsk } from './account.ts'
import { DepartedUse } from './departed-use.ts'
import type { BudgetCount } from './budget-count.ts'
import type { Authority, AuthorityOptions, SettledSpend } from './authority.ts'

export interface InProcessAuthorityOptions extends AuthorityOptions {
  readonly clock: Clock
  /** How many holders there are to be; what is left is divided by them. */
  readonly holders: () => number
  /** Asks wait until `open` is called: another authority may have handed out what this one does not know of. */
  readonly closed: boolean
  /** It grants from now on. */
  readonly onOpen?: () => void
  readonly budgets: SettledSpend
  /** Use of windows by fronts that ended before this authority began. */
  readonly departed?: readonly WindowCharges[]
}

/** What one holder is told at the end of a call. */
interface Outbox {
  sequence: number | null
  readonly states: LeaseReply['states'][number][]
  readonly grants: LeaseGrant[]
  readonly reclaims: Array<readonly [string, number]>
  readonly reclaimsOver: string[]
}

const SWEEP_MS = 60_000
const NOTHING: ReadonlyMap<string, number> = new Map()

/**
 * The authority over the fronts of one machine, in the memory of the control process. While plenty is left, slices are large and
 * asked for ahead; the less there is left the smaller they get, down to exactly what is needed. An ask that does not fit
 * first reclaims what other fronts hold and do not need, so that it is refused only when the limit has truly been used.
 */
export class InProcessAuthority implements Authority {
  readonly epoch = randomUUID()
  readonly #options: InProcessAuthorityOptions
  readonly #accounts = new Map<string, Account>()
  readonly #resumed = new Set<string>()
  readonly #outboxes = new Map<string, Outbox>()
  readonly #writerOf = new Map<string, string>()
  /** Writers whose journals may have more to tell. */
  readonly #living = new Set<string>()
  /** Budgets to be read from the database. */
  readonly #unread = new Set<Account>()
  #reading = false
  /** Raised when a writer comes or goes, or is settled late: what was read before cannot be trusted. */
  #generation = 0
  readonly #departed = new DepartedUse()
  #open: boolean
  #sweptMs = 0

  constructor(options: InProcessAuthorityOptions) {
    this.#options = options
    this.#open = !options.closed
    const nowMs = options.clock.now()
    this.#departed.add(options.departed ?? [], nowMs)
    for (const { allowance, limit, used } of this.departed()) {
      const account = this.#account(allowance, 'rate', limit)
      for (const [bucket, amount] of used) account.charge('', bucket, amount, nowMs)
    }
  }

  resume(holder: string, { writer, leases }: LeaseResume): void {
    const nowMs = this.#options.clock.now()
    this.#writerOf.set(holder, writer)
    this.#living.add(writer)
    this.#generation += 1
    for (const { allowance, kind, limit, held, used } of leases) {
      const account = this.#account(allowance, kind, limit)
      account.hold(holder, held - (account.held.get(holder) ?? 0))
      if (kind === 'concurrency') account.outdated.add(holder)
      if (account.budget !== null) this.#tell(account, account.budget, writer, used)
      else for (const [bucket, amount] of used) account.charge(writer, bucket, amount, nowMs)
    }
    this.#resumed.add(holder)
    this.openOnceResumed()
  }

  /** Opens when as many holders have resumed as there are to be: fewer may be expected now than before. */
  openOnceResumed(): void {
    if (this.#resumed.size >= this.#options.holders()) this.open()
  }

  /** Serves the asks that have waited for the holders to resume. */
  open(): void {
    if (this.#open) return
    this.#open = true
    const nowMs = this.#options.clock.now()
    for (const account of this.#accounts.values()) this.#serve(account, nowMs)
    for (const account of this.#unread) this.#read(account)
    this.#flush()
    this.#options.onOpen?.()
  }

  exchange(holder: string, request: LeaseRequest): void {
    const nowMs = this.#options.clock.now()
    const writer = this.#writer(holder)
    const touched = new Set<Account>()
    const charged = new Set<Account>()
    for (const [id, bucket, consumed, correction] of request.charges) {
      const account = this.#accounts.get(id) ?? this.#account(id, 'rate', 0)
      account.hold(holder, -consumed)
      // Of a closed journal the database knows all.
      if (account.budget === null || this.#living.has(writer))
        account.charge(writer, bucket, consumed + correction, nowMs)
      charged.add(account)
    }
    const known = (id: string, act: (account: Account) => void): void => {
      const account = this.#accounts.get(id)
      if (account === undefined) return
      act(account)
      touched.add(account)
    }
    for (const [id, amount] of request.returns) {
      known(id, (account) => {
        account.hold(holder, -amount)
      })
    }
    for (const id of request.reclaimed) known(id, (account) => account.reclaims.delete(holder))
    for (const id of request.cancels) {
      known(id, (account) => {
        account.pending = account.pending.filter((ask) => ask.holder !== holder)
        this.#endReclaims(account)
      })
    }
    for (const ask of request.asks) {
      const account = this.#account(ask.allowance, ask.kind, ask.limit)
      account.pending = account.pending.filter((earlier) => earlier.holder !== holder)
      account.pending.push({ ...ask, holder, reclaimed: false })
      touched.add(account)
    }
    for (const account of charged) if (account.pending.length > 0) touched.add(account)
    for (const account of touched) this.#serve(account, nowMs)
    if (request.charges.length > 0) {
      const outbox = this.#outbox(holder)
      outbox.sequence = request.sequence
      for (const account of charged) outbox.states.push(account.state(nowMs))
    }
    this.#sweep(nowMs)
    this.#flush()
  }

  /** Keeps the use for the next authority: here it is booked already. */
  farewell({ windows }: LeaseFarewell): void {
    this.#departed.add(windows, this.#options.clock.now())
  }

  /** Use of windows by ended fronts, as far as the windows still see it. */
  departed(): readonly WindowCharges[] {
    return this.#departed.current(this.#options.clock.now())
  }

  gone(holder: string): void {
    const nowMs = this.#options.clock.now()
    const writer = this.#writer(holder)
    this.#writerOf.delete(holder)
    this.#resumed.delete(holder)
    this.#outboxes.delete(holder)
    for (const account of this.#accounts.values()) {
      account.forget(holder, this.#living.has(writer) ? writer : null, nowMs)
      this.#serve(account, nowMs)
    }
    this.#flush()
  }

  ended(writer: string): void {
    if (!this.#living.delete(writer)) return
    this.#generation += 1
    // Until it is read again, what the writer has told goes on to count.
    for (const account of this.#accounts.values()) if (account.budget?.knows(writer) === true) this.#read(account)
  }

  settledLate(budgets: readonly string[]): void {
    this.#generation += 1
    for (const allowance of allowancesOf(budgets)) {
      const account = this.#accounts.get(allowance)
      if (account !== undefined) this.#read(account)
    }
  }

  budgetsTaken(allowances: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const nowMs = this.#options.clock.now()
    const taken = allowances.flatMap((id) => {
      const account = this.#accounts.get(id)
      return account?.budget?.isRead === true ? [[id, account.limit - account.left(nowMs)] as const] : []
    })
    return Promise.resolve(new Map(taken))
  }

  /** Allowances that somebody holds, waits for or has used in the last minute. */
  get size(): number {
    return this.#accounts.size
  }

  #writer(holder: string): string {
    return this.#writerOf.get(holder) ?? holder
  }

  #tell(account: Account, budget: BudgetCount, writer: string, used: ReadonlyArray<readonly [number, number]>): void {
    const isNews = !budget.knows(writer)
    budget.tell(writer, used[0]?.[1] ?? null)
    // What was read before may hold some of what it tells: too much, until it is read again.
    if (isNews) this.#read(account)
  }

  #read(account: Account): void {
    this.#unread.add(account)
    if (this.#open && !this.#reading) void this.#readAll()
  }

  async #readAll(): Promise<void> {
    this.#reading = true
    while (this.#unread.size > 0) {
      const accounts = [...this.#unread]
      const generation = this.#generation
      const settled = await this.#options.budgets.read(accounts.map(({ id }) => id))
      if (generation !== this.#generation) continue
      const nowMs = this.#options.clock.now()
      for (const account of accounts) {
        this.#unread.delete(account)
        account.budget?.learn(settled.get(account.id) ?? NOTHING, this.#living)
        this.#serve(account, nowMs)
      }
      this.#flush()
    }
    this.#reading = false
  }

  #account(id: string, kind: Account['kind'], limit: number): Account {
    let account = this.#accounts.get(id)
    if (account === undefined) {
      account = new Account(id, kind, limit)
      this.#accounts.set(id, account)
    }
    account.limit = limit
    account.touchedMs = this.#options.clock.now()
    return account
  }

  #serve(account: Account, nowMs: number): void {
    if (!this.#open) return
    const waiting: PendingAsk[] = []
    for (const ask of account.pending) {
      if (account.kind === 'concurrency') account.outdated.add(ask.holder)
      const writer = this.#writer(ask.holder)
      if (account.budget?.knows(writer) === false) {
        waiting.push(ask)
        this.#read(account)
        continue
      }
      const amount = this.#amountFor(account, ask, nowMs)
      if (amount > 0 || ask.need === 0) {
        account.hold(ask.holder, amount)
        this.#outbox(ask.holder).grants.push(account.granted(writer, amount, nowMs))
      } else if (this.#mayStillFit(account, ask)) waiting.push(ask)
      else this.#outbox(ask.holder).grants.push(account.refused(ask.need, nowMs))
    }
    account.pending = waiting
    this.#endReclaims(account)
    if (account.held.size > 0) return
    for (const holder of account.outdated) this.#outbox(holder).states.push(account.state(nowMs))
    account.outdated.clear()
  }

  /** 0: the need cannot be met. */
  #amountFor(account: Account, { need, wanted, holder }: PendingAsk, nowMs: number): number {
    const left = account.left(nowMs)
    const holders = this.#options.holders()
    if (account.kind === 'concurrency') {
      const share = Math.floor(account.limit / holders) - (account.held.get(holder) ?? 0)
      const spare = Math.min(wanted, share, Math.floor(left))
      return left >= need ? Math.max(need, spare) : 0
    }
    return left >= need ? Math.max(need, Math.min(wanted, Math.floor(left / (2 * holders)))) : 0
  }

  /** Reclaims what others hold. Returns true as long as some of it may come back. */
  #mayStillFit(account: Account, ask: PendingAsk): boolean {
    const interested = new Set([...account.held.keys(), ...account.pending.map(({ holder }) => holder)])
    const keep = Math.floor(account.limit / Math.max(1, interested.size))
    for (const holder of account.held.keys()) {
      // Who was told before hands back by itself what becomes free; only asks that are soon refused look again.
      const knows = ask.blocking
        ? (account.told.get(holder) ?? Infinity) <= keep
        : ask.reclaimed || account.reclaims.has(holder)
      if (holder === ask.holder || knows) continue
      account.reclaims.add(holder)
      account.told.set(holder, keep)
      this.#outbox(holder).reclaims.push([account.id, keep])
    }
    ask.reclaimed = true
    return ask.blocking || account.reclaims.size > 0
  }

  #endReclaims(account: Account): void {
    if (account.told.size === 0 || account.pending.length > 0) return
    if (account.kind === 'concurrency')
      for (const holder of account.told.keys()) this.#outbox(holder).reclaimsOver.push(account.id)
    account.told.clear()
  }

  #outbox(holder: string): Outbox {
    let outbox = this.#outboxes.get(holder)
    if (outbox === undefined) {
      outbox = { sequence: null, states: [], grants: [], reclaims: [], reclaimsOver: [] }
      this.#outboxes.set(holder, outbox)
    }
    return outbox
  }

  #flush(): void {
    for (const [holder, outbox] of this.#outboxes) this.#options.reply(holder, { type: 'lease-reply', ...outbox })
    this.#outboxes.clear()
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < SWEEP_MS) return
    this.#sweptMs = nowMs
    for (const [id, account] of this.#accounts) if (account.isIdle(nowMs)) this.#accounts.delete(id)
  }
}
