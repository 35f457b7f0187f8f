import type { AllowanceState, LeaseState } from '../../shared/core/allowance.ts'
import { bucketOf, WINDOW_SECONDS } from '../../shared/core/allowance.ts'
import { SlidingWindow } from '../../shared/runtime/sliding-window.ts'

/** Of a limit, left alone for what others may have leased when the authority was lost. */
const UNKNOWN_PART = 0.05
/** What others held when the authority spoke last is used up, or expired and out of the window, after this. */
export const OUTDATED_MS = (WINDOW_SECONDS + 22) * 1000

export interface UnaskedTerms {
  readonly limit: number
  readonly parts: number
}

/** Without Redis a process takes again what it used itself only after this: Redis then hears of it before it grants anything. */
const REUSE_MS = 1_100
/** Half-way to the even share, and all the way: who has more than that takes less from then on. */
export const HALF_EVEN_MS = 30_000
const EVEN_MS = 100_000
/** And who has less takes more once what the others used before has left the window. */
const ROUND_MS = (WINDOW_SECONDS + 5) * 1000
export const SHARES_MS = HALF_EVEN_MS + ROUND_MS

export interface AloneTerms {
  readonly limit: number
  readonly processes: number
  /** What is set aside for this process. */
  readonly part: number
  /** Leased and not used. */
  readonly free: number
  /** When Redis went away; null where it is there. */
  readonly awaySinceMs: number | null
  /** Nobody else can have been given what this process used before. */
  readonly mayReuse: boolean
}

/** What this process used of a window: all of the last minute, and what of it the authority has not been told yet. */
export class WindowUse {
  readonly #window = new SlidingWindow()
  /** Since the last report, by bucket: what was consumed from leases, and corrections. */
  readonly #charges = new Map<number, [consumed: number, correction: number]>()
  /** Reported, and not yet in what the authority says. */
  #unacknowledged = 0
  #said: AllowanceState | null = null
  #saidMs = 0
  readonly #burnRate = new BurnRate()
  /** Taken without asking since then. */
  #unasked = 0
  /** Null while the authority is there. */
  #lostMs: number | null = null
  /** Of the last minute: what was taken of the part that is set aside. */
  readonly #ofPart = new SlidingWindow()
  /** Used or leased when the authority went away, the part not counted. */
  #footprint = 0
  /** Until then nothing beyond the even share. */
  #evenUntilMs = -Infinity

  get hasCharges(): boolean {
    return this.#charges.size > 0
  }

  /** From leases, and not told yet. */
  get consumed(): number {
    let sum = 0
    for (const [consumed] of this.#charges.values()) sum += consumed
    return sum
  }

  charge(bucket: number, consumed: number, correction: number, nowMs: number): void {
    this.#window.correct(bucket, consumed + correction, nowMs)
    const charge = this.#charges.get(bucket)
    if (charge === undefined) this.#charges.set(bucket, [consumed, correction])
    else {
      charge[0] += consumed
      charge[1] += correction
    }
  }

  /** Takes back what was consumed; false when it has been reported already. */
  undo(bucket: number, consumed: number, nowMs: number): boolean {
    const charge = this.#charges.get(bucket)
    if (charge === undefined || charge[0] < consumed) return false
    charge[0] -= consumed
    this.#window.correct(bucket, -consumed, nowMs)
    return true
  }

  /** Used by everybody, as far as is known here. */
  known(nowMs: number): number {
    let unreported = 0
    for (const [consumed, correction] of this.#charges.values()) unreported += consumed + correction
    return Math.max(this.#window.used(nowMs), (this.#said?.used ?? 0) + this.#unacknowledged + unreported)
  }

  secondsUntilEmpty(nowMs: number): number {
    return Math.max(0, this.#window.secondsUntilEmpty(nowMs), ((this.#said?.emptyAtMs ?? 0) - nowMs) / 1000)
  }

  /** Until `amount` fits under a limit of what this process alone used. */
  secondsUntil(amount: number, limit: number, nowMs: number): number {
    return this.#window.secondsUntil(amount, limit, nowMs)
  }

  learn(state: AllowanceState, nowMs: number): void {
    this.#burnRate.learn(state.left, nowMs)
    this.#said = state
    this.#saidMs = nowMs
    this.#lostMs = null
    this.#unasked = 0
  }

  /** Something was taken that is not leased. */
  takeUnasked(amount: number): void {
    this.#unasked += amount
  }

  /**
   * When this process may take `amount` unasked, Unix milliseconds: of what was left when the authority spoke last it has one
   * part of `parts`, until that is long ago. 0: now.
   */
  unaskedAtMs(amount: number, { limit, parts }: UnaskedTerms, nowMs: number): number {
    const outdatedMs = this.#saidMs + OUTDATED_MS
    if (this.#said === null || nowMs >= outdatedMs) return 0
    // Others may have leased some of it since: at the pace of the limit, or at the one of before.
    const sinceSeconds = ((this.#lostMs ?? nowMs) - this.#saidMs) / 1000
    const leased = Math.max(
      (limit * sinceSeconds) / WINDOW_SECONDS,
      this.#burnRate.perSecond * Math.max(1, sinceSeconds),
    )
    const spare = this.#said.left - limit * UNKNOWN_PART - leased
    return this.#unasked + amount <= spare / parts ? 0 : outdatedMs
  }

  /**
   * Takes `need` while Redis is away, or has yet to hear what is held: of the part that is set aside, or of what this process used itself
   * and has left the window. 0, or when there may be enough.
   */
  takeAlone(need: number, { limit, processes, part, free, awaySinceMs, mayReuse }: AloneTerms, nowMs: number): number {
    const own = this.#window.used(nowMs)
    const share = limit / processes
    const awayMs = awaySinceMs === null ? 0 : nowMs - awaySinceMs
    const ofPart = this.#ofPart.used(nowMs)
    const isReused = mayReuse && awayMs >= REUSE_MS && own - ofPart + free + need <= this.#footprint
    const steps = nowMs < this.#evenUntilMs ? 2 : stepsAt(awayMs)
    if (steps > 0) {
      // Between what it has and the even share.
      const has = (mayReuse ? this.#footprint : 0) + part
      const after = (taken: number): number => has + ((share - has) * taken) / 2
      const allowed = Math.min(after(steps), after(stepsAt(awayMs - ROUND_MS)))
      const seconds = this.#window.secondsUntil(need, allowed, nowMs)
      if (seconds > 0) return nowMs + Math.min(seconds, WINDOW_SECONDS + 1) * 1000
    } else if (!isReused && ofPart + need > part) {
      return need <= part
        ? nowMs + this.#ofPart.secondsUntil(need, part, nowMs) * 1000
        : (awaySinceMs ?? nowMs) + SHARES_MS
    }
    if (!isReused) this.#ofPart.correct(bucketOf(nowMs), need, nowMs)
    return 0
  }

  /** The charges since the last report, which is now made. */
  report(): Array<readonly [bucket: number, consumed: number, correction: number]> {
    const charges = [...this.#charges].map(([bucket, [consumed, correction]]) => {
      this.#unacknowledged += consumed + correction
      return [bucket, consumed, correction] as const
    })
    this.#charges.clear()
    return charges
  }

  acknowledged(amount: number, state: AllowanceState | null, nowMs: number): void {
    this.#unacknowledged -= amount
    if (state !== null) this.learn(state, nowMs)
  }

  /** Leases have expired. */
  expired(free: number): void {
    this.#footprint -= free
  }

  /** Redis is there again, after a long time. */
  keepEven(nowMs: number): void {
    this.#evenUntilMs = nowMs + (WINDOW_SECONDS + 1) * 1000
  }

  /** The authority is away: what was under way to it will not be acknowledged. */
  lost(nowMs: number, free = 0): void {
    this.#unacknowledged = 0
    this.#lostMs ??= nowMs
    this.#footprint = this.#window.used(nowMs) - this.#ofPart.used(nowMs) + free
  }

  charges(nowMs: number): LeaseState['used'] {
    return this.#window.charges(nowMs)
  }

  /**
   * What an authority must be told anew. One that remembers has booked, when the connection broke, all that was leased as used:
   * to it the what was consumed are no news, unless leases were kept.
   */
  resume(remembers: boolean, nowMs: number, keepsLeases: boolean): LeaseState['used'] {
    if (!remembers) {
      this.#charges.clear()
      return this.#window.charges(nowMs)
    }
    if (!keepsLeases) for (const charge of this.#charges.values()) charge[0] = 0
    return []
  }
}

/** How many of the two steps to even shares have been taken by then. */
function stepsAt(awayMs: number): number {
  return awayMs >= EVEN_MS ? 2 : awayMs >= HALF_EVEN_MS ? 1 : 0
}

/** How fast of late all together have taken what was left. */
class BurnRate {
  #second = -Infinity
  /** The most that was left in that second. */
  #most = 0
  /** As much as that in the second before. */
  #mostBefore = 0
  #left = 0

  /** In a second, at most; of the last two. */
  get perSecond(): number {
    return Math.max(0, Math.max(this.#most, this.#mostBefore) - this.#left)
  }

  learn(left: number, nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    const passed = second - this.#second
    if (passed !== 0) {
      // What was taken while nothing was said, evenly.
      this.#mostBefore = left + (this.#most - left) / passed
      this.#most = left
      this.#second = second
    }
    this.#most = Math.max(this.#most, left)
    this.#left = left
  }
}
