import { setTimeout as elapsed } from 'node:timers/promises'
import type { Clock } from '../../shared/runtime/clock.ts'
import { claimDeliveries, setOutcome } from '../store/alert-deliveries.ts'
import type { Delivery } from '../store/alert-deliveries.ts'
import type { Queryable } from '../store/database.ts'
import type { AlertSender, Attempt } from './sender.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The wait after each failed attempt; the last one repeats until the message has been tried for a day. */
const WAITS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
] as const
const LONGEST_WAIT_MS = 4 * HOUR_MS
/** Messages that are sent at the same time. */
const RUNNING = 8
/** Of them, for one enterprise: receivers that do not answer must not keep those of others waiting. */
const RUNNING_OF_SCOPE = 2
/** Longer than an attempt takes. Then the message is due again: this process has ended, or cannot store outcomes. */
const LEASE_MS = MINUTE_MS
/** Attempts may go on for this time when the process ends. */
const PATIENCE_MS = 2 * SECOND_MS

export interface DeliveryQueueOptions {
  readonly database: Queryable
  readonly sender: AlertSender
  readonly clock: Clock
  readonly onFault: (cause: unknown) => void
  /** Called when a message is given up. */
  readonly onFailed: (delivery: Delivery, reason: string) => void
}

/** Sends what is due, a few messages at a time, and stores the outcomes. The queue itself is in the database. */
export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions
  /** Attempts under way, with the enterprise of each, or '' for a message of the platform. */
  readonly #running = new Map<Promise<void>, string>()
  readonly #abort = new AbortController()
  #pumping: Promise<void> | null = null
  /** A place became free, or a message due, after the last search began. */
  #isAsked = false
  #isStopped = false

  constructor(options: DeliveryQueueOptions) {
    this.#options = options
  }

  /** Begins to send what is due, and resolves before that has been sent. */
  pump(): Promise<void> {
    this.#isAsked = true
    this.#pumping ??= this.#pumpWhileAsked()
    return this.#pumping
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    while (this.#pumping !== null || this.#running.size > 0) {
      await Promise.all([this.#pumping?.catch(() => undefined), ...this.#running.keys()])
    }
  }

  /** Ends attempts under way after a moment; the next process makes them again. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const timer = setTimeout(() => {
      this.#abort.abort()
    }, PATIENCE_MS)
    const over = new AbortController()
    await Promise.race([
      this.idle(),
      elapsed(2 * PATIENCE_MS, undefined, { signal: over.signal }).catch(() => undefined),
    ])
    clearTimeout(timer)
    over.abort()
  }

  async #pumpWhileAsked(): Promise<void> {
    try {
      while (this.#isAsked) {
        this.#isAsked = false
        await this.#pump()
      }
    } finally {
      this.#pumping = null
    }
  }

  async #pump(): Promise<void> {
    const { database, clock } = this.#options
    const most = RUNNING - this.#running.size
    if (this.#isStopped || most <= 0) return
    const nowMs = clock.now()
    const claimed = await claimDeliveries(database, {
      now: new Date(nowMs),
      leaseUntil: new Date(nowMs + LEASE_MS),
      most,
      mostOfScope: RUNNING_OF_SCOPE,
      running: [...this.#running.values()],
    })
    for (const delivery of claimed) this.#begin(delivery)
  }

  #begin(delivery: Delivery): void {
    const { onFault } = this.#options
    const work: Promise<void> = this.#deliver(delivery)
      .catch(onFault)
      .finally(() => {
        this.#running.delete(work)
        // Others may have waited for this place.
        this.pump().catch(onFault)
      })
    this.#running.set(work, delivery.enterpriseId ?? '')
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { database, sender, clock, onFailed } = this.#options
    const attempt = await sender.send(delivery, clock.now(), this.#abort.signal)
    const nowMs = clock.now()
    const outcome = outcomeOf(delivery, attempt, nowMs)
    await setOutcome(database, delivery, outcome)
    if (outcome.status === 'failed') onFailed(delivery, outcome.error ?? '')
  }
}

function outcomeOf(delivery: Delivery, attempt: Attempt, nowMs: number): Parameters<typeof setOutcome>[2] {
  const { ok, status: responseStatus, error, retryAfterSeconds, end } = attempt
  const over = { nextAt: null, responseStatus, error, endedAt: new Date(nowMs) }
  if (ok) return { ...over, status: 'delivered' }
  if (end === 'dropped') return { ...over, status: 'dropped' }
  const waitMs = WAITS_MS[delivery.attempts - 1] ?? LONGEST_WAIT_MS
  const askedMs = Math.min(LONGEST_WAIT_MS, (retryAfterSeconds ?? 0) * SECOND_MS)
  const nextMs = nowMs + Math.max(waitMs, askedMs)
  if (end === 'gone' || nextMs > delivery.expiresAt.getTime()) return { ...over, status: 'failed' }
  return { status: 'pending', nextAt: new Date(nextMs), responseStatus, error, endedAt: null }
}
