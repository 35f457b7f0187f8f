import { randomUUID } from 'node:crypto'
import { PublicPost } from '../../src/front/upstream/public-post.ts'
import type { AlertKind } from '../../src/shared/api/alert-kinds.ts'
import type { JournalHealth } from '../../src/shared/core/health.ts'
import type { RelayState } from '../../src/shared/core/relay-state.ts'
import type { Provider } from '../../src/shared/core/snapshot.ts'
import { generateWebhookSecret } from '../../src/shared/core/standard-webhooks.ts'
import { UpstreamReach } from '../../src/shared/core/upstream-reach.ts'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { Seal } from '../../src/shared/runtime/seal.ts'
import { AlertRunner } from '../../src/control/alerts/alert-runner.ts'
import { AlertSender } from '../../src/control/alerts/sender.ts'
import type { Post } from '../../src/control/alerts/sender.ts'
import { listDeliveries } from '../../src/control/store/alert-deliveries.ts'
import type { Delivery } from '../../src/control/store/alert-deliveries.ts'
import { channelContext, insertAlert, putChannels } from '../../src/control/store/alerts.ts'
import type { AlertScope, AlertSettings } from '../../src/control/store/alerts.ts'
import type { Database } from '../../src/control/store/database.ts'
import { insertEnterprise } from '../../src/control/store/enterprises.ts'
import { WebhookReceiver } from './webhook-receiver.ts'

const EMPTIED = `TRUNCATE alerts, alert_deliveries, alert_summaries, alert_sender, enterprises, wallets, budget_use, entry_keys,
  request_rollup_hourly, request_rollup_daily, enterprise_rollup_hourly CASCADE`

export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly messageId: string
}

/** Alerts over a real database and real HTTP, in simulated time. */
export class AlertWorld {
  readonly database: Database
  readonly receiver: WebhookReceiver
  readonly letters: Letter[] = []
  readonly warnings: string[] = []
  readonly seal = new Seal(Buffer.alloc(32, 1), 'webhook secret')
  nowMs = Date.now()
  providers: readonly Provider[] = []
  keys: RelayState['keys'] = []
  lagMs = 0
  certFile: string | null = null
  /** The mail server takes e-mails. */
  takesMail = true
  readonly #posts: PublicPost
  readonly #runners: AlertRunner[] = []

  private constructor(database: Database, receiver: WebhookReceiver) {
    this.database = database
    this.receiver = receiver
    const onFault = (cause: unknown): void => {
      throw cause
    }
    this.#posts = new PublicPost(systemClock, { reach: new UpstreamReach(['127.0.0.1']), onFault })
  }

  static async open(database: Database): Promise<AlertWorld> {
    await database.script(EMPTIED)
    return new AlertWorld(database, await WebhookReceiver.start())
  }

  async close(): Promise<void> {
    await Promise.all(this.#runners.map((runner) => runner.stop()))
    await this.receiver.close()
  }

  /** The part of a control process that does alerts. */
  runner(node = 'one', post?: Post): AlertRunner {
    const runner = new AlertRunner({
      database: this.database,
      clock: { ...systemClock, now: () => this.nowMs },
      node,
      currency: 'USD',
      checkIntervalMs: 10_000,
      retentionDays: 30,
      sources: {
        providers: () => this.providers,
        relay: () => ({ requestsPerMinute: 0, tokensPerMinute: 0, waiting: 0, fronts: 1, keys: this.keys }),
        journal: (): JournalHealth => ({ isBehind: false, lagMs: this.lagMs, unsettledBytes: 0, diskFreeBytes: null }),
        alertLagMs: 60_000,
        certFile: () => this.certFile,
      },
      sender: new AlertSender({
        database: this.database,
        seal: this.seal,
        reach: new UpstreamReach(['127.0.0.1']),
        post: post ?? ((...call) => this.#posts.post(...call)),
        mailer: {
          deliver: async (letter) => {
            if (!this.takesMail) throw new Error('no')
            this.letters.push(letter)
          },
        },
        userAgent: 'sluice/test',
      }),
      logger: {
        warn: (context, message) => {
          this.warnings.push(`${message} ${JSON.stringify(context)}`)
        },
      },
    })
    this.#runners.push(runner)
    return runner
  }

  /** Checks after some time, and waits until what is due has been sent. */
  async check(runner: AlertRunner, afterMs = 0): Promise<void> {
    this.nowMs += afterMs
    await runner.check()
    await runner.idle()
  }

  async enterprise(more: { timeZone?: string; isPrepaid?: boolean; monthlyBudget?: number } = {}): Promise<string> {
    const id = `ent_${randomUUID()}`
    await insertEnterprise(this.database, {
      id,
      name: 'Acme',
      status: 'active',
      currency: 'USD',
      timeZone: more.timeZone ?? 'UTC',
      isPrepaid: more.isPrepaid ?? false,
      rpm: null,
      tpm: null,
      maxConcurrency: null,
      capture: null,
      monthlyBudget: more.monthlyBudget ?? null,
      monthlyTokens: null,
      platformMonthlyBudget: null,
      modelBudgets: null,
    })
    return id
  }

  /** Stores an alert with a webhook at `path`, or with the e-mail addresses. Returns its id and the secret of the webhook. */
  async alert(
    scope: AlertScope,
    kind: AlertKind,
    to: { readonly path: string } | { readonly mail: string },
    settings: Partial<AlertSettings> = {},
  ): Promise<{ id: string; secret: string }> {
    const id = `alert_${randomUUID()}`
    const channel = `chan_${randomUUID()}`
    const secret = generateWebhookSecret()
    const none = { name: null, threshold: null, owners: null, minRequests: null, quiet: null, enabled: true }
    await insertAlert(this.database, scope, { id, kind, ...none, ...settings })
    const sealed = this.seal.seal(Buffer.from(secret), channelContext(channel))
    await putChannels(this.database, id, [
      'path' in to
        ? { id: channel, type: 'webhook', address: this.receiver.url(to.path), secret: sealed }
        : { id: channel, type: 'mail', address: to.mail, secret: null },
    ])
    return { id, secret }
  }

  deliveries(scope: AlertScope): Promise<Delivery[]> {
    return listDeliveries(this.database, scope, {}, { limit: 100, after: null })
  }

  /** The thresholds that were told at a path. */
  told(path: string): unknown[] {
    return this.receiver.at(path).map(({ json }) => json.data['threshold'])
  }
}
