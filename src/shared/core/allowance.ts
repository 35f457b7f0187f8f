/**
 * `rate`: so much in any 60 seconds. `concurrency`: so many at the same time. `budget`: so much in all. Use of a budget never comes
 * back, and the database knows it.
 */
export type AllowanceKind = 'rate' | 'concurrency' | 'budget'

/** What a process takes of a limit when its lease is used up and no authority can be asked: its share, nothing, or any amount. */
export type DegradedMode = 'shares' | 'closed' | 'open'

/**
 * The messages by which the fronts of a machine share allowances. A front holds a *lease* on a slice of an allowance and
 * takes from it in memory; the authority knows what every front holds and what was used when, and never hands
 * out more than what is left. Tuples, because a busy front sends many.
 */
export interface LeaseRequest {
  readonly type: 'lease-request'
  /** Numbers the charges of a front; the reply names it. */
  readonly sequence: number
  /**
   * What was used. `consumed` was leased before and is not held any more; `correction` (positive or negative) never was. The bucket
   * of a budget is 0.
   */
  readonly charges: ReadonlyArray<readonly [allowance: string, bucket: number, consumed: number, correction: number]>
  /** Leased, and not needed. */
  readonly returns: ReadonlyArray<readonly [allowance: string, amount: number]>
  /** Reclaims that this front has carried out: `returns` has what was free. */
  readonly reclaimed: readonly string[]
  /** Asks that nobody waits for any more. */
  readonly cancels: readonly string[]
  readonly asks: readonly LeaseAsk[]
  /** The front has heard that these are crowded, and takes nothing of them unasked. */
  readonly heard?: readonly string[]
}

export interface LeaseAsk {
  readonly allowance: string
  readonly kind: AllowanceKind
  readonly limit: number
  /** The least that helps. 0: whatever can be spared, answered at once. */
  readonly need: number
  readonly wanted: number
  /** Concurrency only: the ask stands until it is met or cancelled. Other asks are refused when the need cannot be met. */
  readonly blocking: boolean
}

export interface LeaseReply {
  readonly type: 'lease-reply'
  /** The charges that have been booked, and how the allowances stand since. */
  readonly sequence: number | null
  readonly states: readonly AllowanceState[]
  readonly grants: readonly LeaseGrant[]
  /** Hand back what is free, and what becomes free as long as more than `keep` is held. */
  readonly reclaims: ReadonlyArray<readonly [allowance: string, keep: number]>
  /** Nobody waits for these any more. */
  readonly reclaimsOver: readonly string[]
  /** Machines are about to use the half that is set aside for outages: nothing of these is to be taken unasked. */
  readonly crowded?: readonly string[]
  /** Half of these is set aside again. */
  readonly roomy?: readonly string[]
}

export interface AllowanceState {
  readonly allowance: string
  /** Used in the window that ends now, or of a budget in all, leases not counted. */
  readonly used: number
  /** Neither used nor leased. */
  readonly left: number
  /** When nothing is left in the window, Unix milliseconds; now for what is no window. */
  readonly emptyAtMs: number
}

export interface LeaseGrant extends AllowanceState {
  /** 0 with a need: refused. */
  readonly amount: number
  /** When the need may fit, Unix milliseconds; 0 when it was met. */
  readonly retryAtMs: number
  /** Of a budget: all that the holder has used of it, as far as the authority knows. A holder that begins with it goes on from here. */
  readonly charged?: number
}

/** Said by the authority to each front that connects: what it remembers began with this epoch. */
export interface LeaseEpoch {
  readonly type: 'lease-epoch'
  readonly epoch: string
}

/** Said to the fronts when limits are shared over machines. */
export interface LeaseTerms {
  readonly type: 'lease-terms'
  /** Fronts on all machines: each has its share when the authority cannot be asked. */
  readonly holders: number
}

/** The authority is out of reach; an epoch follows when it is back. */
export interface LeaseAway {
  readonly type: 'lease-away'
}

/** The control process ends for another one, which is about to come: fronts wait for it. */
export interface LeaseHandOver {
  readonly type: 'lease-hand-over'
}

/** A front's answer: what it holds and, to an authority that does not remember, what it used in the last minute. */
export interface LeaseResume {
  readonly type: 'lease-resume'
  /** The journal that the front writes: what it used stands under this name in the database. */
  readonly writer: string
  readonly leases: readonly LeaseState[]
  /** The same control process has had all messages before: what else was leased was not used. */
  readonly isWhole?: boolean
  /** Allowances that the front knows to be crowded. */
  readonly crowded?: readonly string[]
}

/** The last word of a front that ends: what it used in the last minute, which nobody could tell the next authority. */
export interface LeaseFarewell {
  readonly type: 'lease-farewell'
  readonly windows: readonly WindowCharges[]
}

export interface WindowCharges {
  readonly allowance: string
  readonly limit: number
  readonly used: ReadonlyArray<readonly [bucket: number, amount: number]>
}

export interface LeaseState {
  readonly allowance: string
  readonly kind: AllowanceKind
  readonly limit: number
  readonly held: number
  /** Of a budget, always: all that this front has ever used of it, under the bucket 0. */
  readonly used: ReadonlyArray<readonly [bucket: number, amount: number]>
}

export const WINDOW_SECONDS = 60
/** What was used of a window is booked under the bucket of this length that it was taken in; buckets are numbered since 1970. */
export const BUCKET_MS = 250
export const WINDOW_BUCKETS = (WINDOW_SECONDS * 1000) / BUCKET_MS

export function bucketOf(timeMs: number): number {
  return Math.floor(timeMs / BUCKET_MS)
}
