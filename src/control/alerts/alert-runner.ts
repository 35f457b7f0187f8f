import type { Clock } from '../../shared/runtime/clock.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import type { AlertKind } from '../../shared/api/alert-kinds.ts'
import { listWatchedAlerts, lockWatchedAlert, setBaselined } from '../store/alerts.ts'
import type { WatchedAlert } from '../store/alerts.ts'
import {
  deleteAlertState,
  holdSender,
  listAlertStates,
  listStatesOfAlert,
  putAlertState,
  releaseSender,
  removeStatesOfNodesBefore,
} from '../store/alert-states.ts'
import type { AlertState } from '../store/alert-states.ts'
import { countWaiting, dropHeld, hasWork, insertDelivery, removeDeliveriesBefore } from '../store/alert-deliveries.ts'
import type { Delivery } from '../store/alert-deliveries.ts'
import type { Database, Queryable } from '../store/database.ts'
import { DAY_MS } from '../store/partitions.ts'
import { judge } from './crossing.ts'
import type { Reading } from './crossing.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { readCertificate, readJournal, readUpstreamKeys, readUpstreams } from './machine-readings.ts'
import type { MachineSources } from './machine-readings.ts'
import { crossingEvent, deliveryOf } from './messages.ts'
import { readBudgets, readWallets } from './money-readings.ts'
import type { AlertSender } from './sender.ts'
import { queueSummaries } from './summaries.ts'
import { readEntryKeys, readErrorRate, readLatency } from './traffic-readings.ts'
import { UsageWindows } from './usage-windows.ts'

export interface AlertRunnerOptions {
  readonly database: Database
  readonly clock: Clock
  /** This machine. */
  readonly node: string
  readonly currency: string
  readonly checkIntervalMs: number
  readonly retentionDays: number
  readonly sources: MachineSources
  readonly sender: AlertSender
  readonly logger: { warn(context: object, message: string): void }
}

/** A node says again after this time that it still sees something. */
const SEEN_EVERY_MS = 60_000
/** The report of a node counts for the other nodes for this time. */
const SEEN_FOR_MS = 300_000
const FORGOTTEN_AFTER_MS = 7 * DAY_MS
const SENDER_SECONDS = 30
const RETENTION_EVERY_MS = 3_600_000
/** Deliveries of one scope that may wait. */
const MOST_WAITING = 1_000
/** The rollups are looked at each third check. */
const CHECKS_PER_LOOK = 3

/** The states of an alert before a check, and what changes them. */
interface Check {
  readonly alert: WatchedAlert
  readonly readings: readonly Reading[]
  readonly nowMs: number
}

/**
 * Checks what alerts watch, and queues a message when something crosses a threshold. What only this machine knows, it checks always;
 * the rest, and the sending, is for one of the machines that share a database. Crossings are stored in the transaction that queues
 * their messages: a restart neither loses nor repeats any.
 */
export class AlertRunner {
  readonly #options: AlertRunnerOptions
  readonly #queue: DeliveryQueue
  readonly #windows: UsageWindows
  /** Kinds and alerts whose check failed the last time. */
  readonly #failing = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #checking: Promise<void> | null = null
  #isStopped = false
  #retainedAtMs = -Infinity

  constructor(options: AlertRunnerOptions) {
    const { database, sender, clock, logger } = options
    this.#options = options
    this.#windows = new UsageWindows(CHECKS_PER_LOOK * options.checkIntervalMs)
    const onFault = (cause: unknown): void => {
      this.#warn('deliveries', cause)
    }
    const onFailed = ({ id, alertId, enterpriseId, attempts }: Delivery, reason: string): void => {
      logger.warn({ deliveryId: id, alertId, enterpriseId, attempts, reason }, 'a message of an alert was given up')
    }
    this.#queue = new DeliveryQueue({ database, sender, clock, onFault, onFailed })
  }

  start(): void {
    const check = (): void => {
      this.check().catch((cause: unknown) => {
        this.#warn('checks', cause)
      })
    }
    this.#timer = repeat(this.#options.checkIntervalMs, check, (cause) => {
      this.#warn('checks', cause)
    }).unref()
  }

  /** Checks all alerts once, and begins to send. Resolves to the check under way when there is one. */
  check(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    this.#checking ??= this.#check()
      .then(() => {
        this.#failing.delete('checks')
        this.#failing.delete('deliveries')
      })
      .finally(() => {
        this.#checking = null
      })
    return this.#checking
  }

  /** Resolves when nothing is being sent. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#checking?.catch(() => undefined)
    await this.#queue.stop()
    const { database, node } = this.#options
    await releaseSender(database, node).catch(() => undefined)
  }

  async #check(): Promise<void> {
    const { database, clock, node } = this.#options
    const nowMs = clock.now()
    const alerts = await listWatchedAlerts(database)
    await this.#try('retention', () => this.#retain(nowMs))
    const states = alerts.length === 0 ? [] : await listAlertStates(database)
    await this.#judgeAll(alerts.filter(isOfMachine), states, nowMs)
    if (alerts.length === 0 && !(await hasWork(database))) return
    if (!(await holdSender(database, node, SENDER_SECONDS + (3 * this.#options.checkIntervalMs) / 1000))) return
    const shared = alerts.filter((alert) => !isOfMachine(alert))
    const ofTraffic = shared.filter(({ kind }) => kind === 'error_rate' || kind === 'latency')
    if (ofTraffic.length > 0) {
      const enterpriseIds = ofTraffic.map(({ enterpriseId }) => enterpriseId)
      await this.#try('rollups', () => this.#windows.look(database, enterpriseIds, nowMs))
    }
    await this.#judgeAll(shared, states, nowMs)
    await this.#try('summaries', () => queueSummaries(database, nowMs))
    await this.#queue.pump()
  }

  async #judgeAll(alerts: readonly WatchedAlert[], states: readonly AlertState[], nowMs: number): Promise<void> {
    for (const [kind, group] of byKind(alerts)) {
      await this.#try(kind, async () => {
        const readings = await this.#read(kind, group, nowMs)
        for (const [alert, ofAlert] of readings) {
          await this.#try(alert.id, () => this.#judge({ alert, readings: ofAlert, nowMs }, states))
        }
      })
    }
  }

  async #read(
    kind: AlertKind,
    alerts: readonly WatchedAlert[],
    nowMs: number,
  ): Promise<ReadonlyMap<WatchedAlert, readonly Reading[]>> {
    const { database, currency, node, sources } = this.#options
    const each = async (read: (alert: WatchedAlert) => Reading[] | Promise<Reading[]>) => {
      const readings = new Map<WatchedAlert, Reading[]>()
      for (const alert of alerts) readings.set(alert, await read(alert))
      return readings
    }
    switch (kind) {
      case 'budget':
        return readBudgets(database, alerts, { currency, nowMs })
      case 'wallet':
        return readWallets(database, alerts, currency)
      case 'error_rate':
      case 'latency': {
        const read = kind === 'latency' ? readLatency : readErrorRate
        return each(async (alert) => [read(alert, this.#windows.of(alert.enterpriseId))])
      }
      case 'key_disabled':
        return each(({ enterpriseId }) =>
          enterpriseId === null ? readUpstreamKeys(sources) : readEntryKeys(database, enterpriseId, nowMs),
        )
      case 'upstream_down':
        return each(() => readUpstreams(sources))
      case 'journal_behind':
        return each((alert) => [readJournal(alert, node, sources)])
      case 'certificate':
        return each((alert) => readCertificate(alert, sources.certFile(), nowMs))
    }
  }

  /** Stores what has changed, if anything has. */
  async #judge(check: Check, states: readonly AlertState[]): Promise<void> {
    const { alert } = check
    const known = states.filter(({ alertId }) => alertId === alert.id)
    if (!this.#changes(check, known)) return
    await this.#options.database.transaction(async (tx) => {
      if (!(await lockWatchedAlert(tx, alert))) return
      await this.#apply(tx, check, await listStatesOfAlert(tx, alert.id))
    })
  }

  #changes({ alert, readings, nowMs }: Check, states: readonly AlertState[]): boolean {
    const own = this.#ownOf(alert, states)
    const subjects = new Set(readings.map(({ subject }) => subject))
    if (isSilentFirst(alert) || [...own.keys()].some((subject) => !subjects.has(subject))) return true
    return readings.some((reading) => {
      const state = own.get(reading.subject) ?? null
      const { next } = judge(reading, standingOf(state), nowMs)
      return !isSame(next, state) || (state !== null && isUnseen(state, nowMs))
    })
  }

  async #apply(tx: Queryable, { alert, readings, nowMs }: Check, states: readonly AlertState[]): Promise<void> {
    const own = this.#ownOf(alert, states)
    const node = this.#nodeOf(alert)
    const now = new Date(nowMs)
    for (const reading of readings) {
      const { subject } = reading
      const state = own.get(subject) ?? null
      own.delete(subject)
      const { next, crossed } = judge(reading, standingOf(state), nowMs)
      const seen = states.filter((one) => one.subject === subject && one.node !== node && !isStale(one, nowMs))
      if (next === null) {
        if (state !== null) await this.#clear(tx, state, seen, now)
        continue
      }
      if (!isSame(next, state) || (state !== null && isUnseen(state, nowMs))) {
        const clearSince = next.clearSinceMs === null ? null : new Date(next.clearSinceMs)
        await putAlertState(tx, { alertId: alert.id, subject, node, level: next.level, clearSince, seenAt: now })
      }
      if (crossed === null || isSilentFirst(alert) || seen.some(({ level }) => level >= crossed)) continue
      await this.#tell(tx, alert, reading, crossed, nowMs)
    }
    // The subject is not watched any more, because its period or the thing itself is over.
    for (const state of own.values()) {
      const seen = states.filter((one) => one.subject === state.subject && one.node !== node && !isStale(one, nowMs))
      await this.#clear(tx, state, seen, now)
    }
    if (isSilentFirst(alert)) await setBaselined(tx, alert.id)
  }

  async #clear(tx: Queryable, state: AlertState, seenByOthers: readonly AlertState[], now: Date): Promise<void> {
    await deleteAlertState(tx, state)
    if (seenByOthers.length === 0) await dropHeld(tx, state, 'It was over before the quiet hours were.', now)
  }

  async #tell(tx: Queryable, alert: WatchedAlert, reading: Reading, crossed: number, nowMs: number): Promise<void> {
    const { enterpriseId, timeZone } = alert
    const of = { alertId: alert.id, subject: reading.subject }
    await dropHeld(tx, of, 'A higher threshold was crossed before the quiet hours were over.', new Date(nowMs))
    const event = crossingEvent(alert, reading, crossed, nowMs)
    let waiting = await countWaiting(tx, enterpriseId)
    for (const channel of alert.channels) {
      const delivery = deliveryOf(event, alert, channel, { enterpriseId, timeZone })
      waiting += 1
      const error = `More than ${MOST_WAITING} messages wait.`
      const isDropped = waiting > MOST_WAITING
      await insertDelivery(tx, isDropped ? { ...delivery, status: 'dropped', nextAt: null, error } : delivery)
    }
  }

  async #retain(nowMs: number): Promise<void> {
    if (nowMs - this.#retainedAtMs < RETENTION_EVERY_MS) return
    const { database, retentionDays } = this.#options
    this.#retainedAtMs = nowMs
    await removeDeliveriesBefore(database, new Date(nowMs - retentionDays * DAY_MS))
    await removeStatesOfNodesBefore(database, new Date(nowMs - FORGOTTEN_AFTER_MS))
  }

  #nodeOf(alert: WatchedAlert): string {
    return isOfMachine(alert) ? this.#options.node : ''
  }

  #ownOf(alert: WatchedAlert, states: readonly AlertState[]): Map<string, AlertState> {
    const node = this.#nodeOf(alert)
    return new Map(states.flatMap((state) => (state.node === node ? [[state.subject, state]] : [])))
  }

  /** Runs a part of a check; when it fails, the others go on. */
  async #try(part: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
      this.#failing.delete(part)
    } catch (cause) {
      this.#warn(part, cause)
    }
  }

  /** Logs the first of a series of failures. */
  #warn(part: string, cause: unknown): void {
    if (this.#failing.has(part)) return
    this.#failing.add(part)
    this.#options.logger.warn({ err: cause, part }, 'a check of alerts failed; trying again')
  }
}

/** Whether each machine has its own view of it. */
function isOfMachine({ kind, enterpriseId }: WatchedAlert): boolean {
  switch (kind) {
    case 'upstream_down':
    case 'journal_behind':
    case 'certificate':
      return true
    case 'key_disabled':
      return enterpriseId === null
    default:
      return false
  }
}

/** The keys of an enterprise that are off when an alert is made were turned off on purpose: the first check tells nothing. */
function isSilentFirst({ kind, enterpriseId, baselined }: WatchedAlert): boolean {
  return kind === 'key_disabled' && enterpriseId !== null && !baselined
}

function byKind(alerts: readonly WatchedAlert[]): ReadonlyMap<AlertKind, WatchedAlert[]> {
  const groups = new Map<AlertKind, WatchedAlert[]>()
  for (const alert of alerts) groups.set(alert.kind, [...(groups.get(alert.kind) ?? []), alert])
  return groups
}

function standingOf(state: AlertState | null): Parameters<typeof judge>[1] {
  return state === null ? null : { level: state.level, clearSinceMs: state.clearSince?.getTime() ?? null }
}

function isSame(next: ReturnType<typeof judge>['next'], state: AlertState | null): boolean {
  const { level, clearSinceMs } = standingOf(state) ?? { level: null, clearSinceMs: null }
  return (next?.level ?? null) === level && (next?.clearSinceMs ?? null) === clearSinceMs
}

/** Whether this node should say again that it sees it. */
function isUnseen({ node, seenAt }: AlertState, nowMs: number): boolean {
  return node !== '' && nowMs - seenAt.getTime() >= SEEN_EVERY_MS
}

/** Whether its node has said nothing of it lately. */
function isStale({ seenAt }: AlertState, nowMs: number): boolean {
  return nowMs - seenAt.getTime() > SEEN_FOR_MS
}
