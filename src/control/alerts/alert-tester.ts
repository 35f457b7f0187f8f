import { GatewayError } from '../../shared/core/errors.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import { countTestsSince, insertDelivery } from '../store/alert-deliveries.ts'
import type { Alert, AlertChannel, AlertScope } from '../store/alerts.ts'
import type { Queryable } from '../store/database.ts'
import { deliveryOf, testEvent } from './messages.ts'
import type { AlertSender } from './sender.ts'

const MAX_CONCURRENT = 4
const PER_MINUTE = 20
const MINUTE_MS = 60_000

/** The outcome of a test message at one channel. */
export interface ChannelTest {
  readonly channel: AlertChannel
  readonly ok: boolean
  readonly status: number | null
  readonly latencyMs: number
  readonly error: string | null
}

/** Sends test messages, also in quiet hours, once. They are in the delivery log. */
export class AlertTester {
  readonly #database: Queryable
  readonly #sender: AlertSender
  readonly #clock: Clock
  #running = 0

  constructor(database: Queryable, sender: AlertSender, clock: Clock) {
    this.#database = database
    this.#sender = sender
    this.#clock = clock
  }

  /** Rejects with GATEWAY_OVERLOADED, and with RPM_EXCEEDED when the scope has tested often lately. */
  async test(scope: AlertScope, alert: Alert, signal: AbortSignal): Promise<ChannelTest[]> {
    if (this.#running >= MAX_CONCURRENT) {
      throw new GatewayError('GATEWAY_OVERLOADED', {
        message: 'Too many tests of alerts are running. Try again.',
        retryAfterSeconds: 1,
      })
    }
    this.#running += 1
    try {
      const nowMs = this.#clock.now()
      const tests = await countTestsSince(this.#database, scope, new Date(nowMs - MINUTE_MS))
      if (tests + alert.channels.length > PER_MINUTE) {
        throw new GatewayError('RPM_EXCEEDED', {
          message: `At most ${PER_MINUTE} test messages are sent in a minute. Try again in a minute.`,
          retryAfterSeconds: 60,
        })
      }
      const event = testEvent(alert, nowMs)
      return await Promise.all(alert.channels.map((channel) => this.#send(event, alert, channel, scope, signal)))
    } finally {
      this.#running -= 1
    }
  }

  async #send(
    event: ReturnType<typeof testEvent>,
    alert: Alert,
    channel: AlertChannel,
    enterpriseId: AlertScope,
    signal: AbortSignal,
  ): Promise<ChannelTest> {
    const delivery = deliveryOf(event, { ...alert, quiet: null }, channel, { enterpriseId, timeZone: 'UTC' })
    const startUs = this.#clock.monotonicUs()
    const { ok, status, error } = await this.#sender.send(delivery, event.atMs, signal)
    const latencyMs = Math.round((this.#clock.monotonicUs() - startUs) / 1000)
    await insertDelivery(
      this.#database,
      { ...delivery, status: ok ? 'delivered' : 'failed', nextAt: null, error },
      { attempts: 1, responseStatus: status, endedAt: new Date(this.#clock.now()) },
    )
    return { channel, ok, status, latencyMs, error }
  }
}
