/**
 * `window`: so much in any 60 seconds. `places`: so many at the same time. `budget`: so much in all; what was used does not
 * come back, and the database knows it.
 */
export type AllowanceKind = 'window' | 'places' | 'budget'

/**
 * What a process does about a limit when its leases are used up and nobody can be asked: its share of the limit, nothing, or
 * whatever is wanted.
 */
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
   * What was used. `drawn` was leased before and is not held any more; `correction` (positive or negative) never was. The cell
   * of a budget is 0.
   */
  readonly charges: ReadonlyArray<readonly [allowance: string, cell: number, drawn: number, correction: number]>
  /** Leased, and not needed. */
  readonly returns: ReadonlyArray<readonly [allowance: string, amount: number]>
  /** Recalls that have been carried out: what was free is among the returns. */
  readonly recalled: readonly string[]
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
  /** Places only: the ask stands until it is met or cancelled. Otherwise it is refused when the need cannot be met. */
  readonly patient: boolean
}

export interface LeaseReply {
  readonly type: 'lease-reply'
  /** The charges that have been booked, and how the allowances stand since. */
  readonly sequence: number | null
  readonly states: readonly AllowanceState[]
  readonly grants: readonly LeaseGrant[]
  /** Hand back what is free, and what becomes free as long as more than `keep` is held. */
  readonly recalls: ReadonlyArray<readonly [allowance: string, keep: number]>
  /** Nobody waits for these any more. */
  readonly calms: readonly string[]
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
  readonly holdings: readonly HoldingState[]
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
  readonly used: ReadonlyArray<readonly [cell: number, amount: number]>
}

export interface HoldingState {
  readonly allowance: string
  readonly kind: AllowanceKind
  readonly limit: number
  readonly held: number
  /** Of a budget, always: all that this front has ever used of it, under the cell 0. */
  readonly used: ReadonlyArray<readonly [cell: number, amount: number]>
}

export const WINDOW_SECONDS = 60
/** What was used of a window is booked under the cell of this length that it was taken in; cells are numbered since 1970. */
export const CELL_MS = 250
export const WINDOW_CELLS = (WINDOW_SECONDS * 1000) / CELL_MS

export function cellOf(timeMs: number): number {
  return Math.floor(timeMs / CELL_MS)
}
