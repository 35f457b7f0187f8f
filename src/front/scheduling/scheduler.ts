import type { Clock } from '../../shared/runtime/clock.ts'
import type { DeadlineClock } from '../../shared/runtime/deadlines.ts'
import type { AnswerHead, AttemptOutcome, Choice, Slot } from '../../shared/core/deployment.ts'
import type { ServedBy } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import type { SchedulerStats } from '../../shared/core/scheduler-stats.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import type { Catalog, Route } from './catalog.ts'
import { choose, explain, standingOf } from './choose.ts'
import type { ChoiceQuery, Chosen } from './choose.ts'
import { hashText } from './hash.ts'
import { HeldSlot } from './held-slot.ts'
import type { SlotOwner } from './held-slot.ts'
import { KeyRegistry } from './key-registry.ts'
import type { Announce, KeyState } from './key-state.ts'
import type { SlotRequest } from './slot-request.ts'
import type { SlotSupply } from './slot-supply.ts'
import { WaitQueue } from './wait-queue.ts'
import { roomAtMs, usableAtMs } from './wait-estimate.ts'
import { WaitingSlot } from './waiting-slot.ts'
import { describeNoRoom } from './words.ts'

const ONLY: Choice = { how: 'only', score: null, waitUs: 0, others: [] }
/** The longest `Retry-After` when a slot depends on the end of other calls. */
const MAX_ESTIMATE_MS = 60_000
const SHARE_OF_NEWEST_PACE = 0.1
const MAX_PACE_MS = 10_000

export interface SchedulerOptions {
  readonly supply: SlotSupply
  readonly random: () => number
  readonly clock: Clock
  readonly deadlines: DeadlineClock
  /** The most requests that may wait at a time. */
  readonly maxWaiting: number
  /** Tells other processes what this one has learned. */
  readonly announce: (news: KeyHealthEvent) => void
}

/**
 * Gives out the slots of upstream keys and learns from the outcomes. Never sleeps or polls: a release, new slots, or the end
 * of a cool-down wakes the waiting requests.
 *
 * Invariant: while requests wait for a key, it has no free slot. Every event that may free a slot serves the queue first.
 */
export class Scheduler implements SlotOwner {
  readonly #options: SchedulerOptions
  readonly #keys: KeyRegistry
  readonly #queue = new WaitQueue<WaitingSlot>()
  #catalog: Catalog
  /** Average time between two requests served from the queue. */
  #paceMs = 1_000
  #servedAtMs = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#keys = new KeyRegistry(options.supply, (key) => {
      this.#serveQueue(key)
    })
    this.#catalog = this.#keys.update({ version: 0, keys: [], providers: [], models: [] })
    options.supply.onSupply((keyId) => {
      const key = this.#keys.get(keyId)
      if (key !== undefined) this.#serveQueue(key)
    })
  }

  update(snapshot: Snapshot): void {
    this.#catalog = this.#keys.update(snapshot)
    this.#rejectUnservable(this.#keys.all(), this.#options.clock.now())
  }

  /** The deployments of a model; null when it has none of this kind. */
  route(model: string, servedBy: ServedBy): Route | null {
    return this.#catalog.route(model, servedBy)
  }

  /** Returns a slot, or a place in the queue. Throws NO_UPSTREAM_CAPACITY when no slot can be free in time. */
  acquire(request: SlotRequest): Slot | WaitingSlot {
    const { clock, supply } = this.#options
    const nowMs = clock.now()
    if (this.#queue.size > 0) this.#serveQueues(request.route.map(({ key }) => key))
    const query = this.#query(request, nowMs)
    const chosen = choose(request.route, query)
    if (chosen === null || !supply.take(chosen.candidate.key.id)) return this.#wait(request, nowMs)
    return this.#hold(chosen, request.route, query, 0)
  }

  /** NO_UPSTREAM_CAPACITY for all keys of the route, with `Retry-After`. */
  noRoom(route: Route): GatewayError {
    return this.#noCapacity(
      route.map(({ key }) => key),
      this.#options.clock.now(),
    )
  }

  answered(slot: HeldSlot, { ok, waitMs, headroom }: AnswerHead): void {
    const { key } = slot.candidate
    const nowMs = this.#options.clock.now()
    if (headroom !== null) key.learnHeadroom(headroom, nowMs, this.#announcer(key))
    const wasProvider = slot.probesProvider
    key.provider.breaker.succeed()
    if (wasProvider) {
      slot.probesProvider = false
      key.provider.breaker.close()
    }
    if (ok) {
      key.latency.add(waitMs, nowMs)
      if (slot.probesKey) {
        slot.probesKey = false
        key.learnFromProbe({ kind: 'ok' }, nowMs, this.#announcer(key))
        this.#serveQueue(key)
      }
    }
    if (wasProvider) this.#serveQueues(key.provider.keys)
    if (headroom?.left === 0) this.#rejectUnservable([key], nowMs)
  }

  released(slot: HeldSlot, outcome: AttemptOutcome): void {
    const { key } = slot.candidate
    const { supply, clock } = this.#options
    const nowMs = clock.now()
    const announce = this.#announcer(key)
    if (slot.probesKey) key.learnFromProbe(outcome, nowMs, announce)
    key.learn(outcome, { nowMs, startedAtMs: slot.startedAtMs, held: supply.held(key.id), announce })
    const isWide = key.provider.learn(outcome.kind, slot.probesProvider, nowMs)
    key.inFlight -= 1
    supply.give(key.id)
    const touched = isWide ? key.provider.keys : [key]
    this.#serveQueues(touched)
    if (outcome.kind !== 'ok' && outcome.kind !== 'refused') this.#rejectUnservable(touched, nowMs)
  }

  /** Applies what another process has learned. */
  hear(news: KeyHealthEvent): void {
    const key = this.#keys.get(news.keyId)
    if (key === undefined) return
    const nowMs = this.#options.clock.now()
    key.hear(news, nowMs)
    this.#serveQueues(news.checked === true ? key.provider.keys : [key])
    this.#rejectUnservable([key], nowMs)
  }

  /** The enabled keys and their slots, by usability. */
  capacity(nowMs: number): ReturnType<KeyRegistry['capacity']> {
    return this.#keys.capacity(nowMs)
  }

  stats(nowMs: number): SchedulerStats {
    return { keys: this.#keys.stats(nowMs), waiting: this.#queue.size }
  }

  #query({ tried, affinity, route }: SlotRequest, nowMs: number): ChoiceQuery {
    const { supply, random } = this.#options
    const hash = affinity === null || route.length === 1 ? null : hashText(affinity)
    return { tried, affinity: hash, nowMs, supply, random }
  }

  /** Makes the slot in use. The caller has taken it from the supply. */
  #hold(chosen: Chosen, route: Route, query: ChoiceQuery, waitUs: number): HeldSlot {
    const { candidate, how, score } = chosen
    const { key } = candidate
    const choice = how === 'only' && waitUs === 0 ? ONLY : { how, score, waitUs, others: explain(route, chosen, query) }
    const slot = new HeldSlot(candidate, choice, query.nowMs, this)
    key.inFlight += 1
    if (slot.probesKey) key.breaker.beginProbe()
    if (slot.probesProvider) key.provider.breaker.beginProbe()
    return slot
  }

  #wait(request: SlotRequest, nowMs: number): WaitingSlot {
    const deadlineMs = nowMs + request.maxWaitMs
    const keys = untriedKeys(request)
    if (request.maxWaitMs <= 0 || !canServeInTime(keys, deadlineMs, nowMs)) throw this.#noCapacity(keys, nowMs)
    if (this.#queue.size >= this.#options.maxWaiting) {
      const other = this.#queue.newestOfLargest(request.tenant)
      if (other === null) throw this.#noCapacity(keys, nowMs)
      this.#leave(other, this.#noCapacity([...other.candidates.keys()], nowMs))
    }
    const waiter = new WaitingSlot(request, this.#options.clock.monotonicUs(), {
      leave: (one, error) => {
        this.#leave(one, error)
      },
      expire: (one) => {
        this.#leave(one, this.#noCapacity([...one.candidates.keys()], this.#options.clock.now()))
      },
    })
    this.#queue.add(waiter)
    waiter.deadline.atMs = deadlineMs
    this.#options.deadlines.watch(waiter.deadline)
    for (const key of waiter.candidates.keys()) {
      if (key.waiting === 1) this.#options.supply.want(key.id)
      this.#watchWake(key, nowMs)
    }
    return waiter
  }

  #leave(waiter: WaitingSlot, error: GatewayError): void {
    if (!this.#queue.remove(waiter)) return
    this.#stopWatching(waiter)
    waiter.refuse(error)
  }

  #stopWatching(waiter: WaitingSlot): void {
    const { deadlines, supply } = this.#options
    deadlines.forget(waiter.deadline)
    for (const key of waiter.candidates.keys()) {
      if (key.waiting > 0) continue
      supply.unwant(key.id)
      deadlines.forget(key.wake)
    }
  }

  #serveQueues(keys: Iterable<KeyState>): void {
    for (const key of keys) this.#serveQueue(key)
  }

  /** Gives the free slots of a key to the requests that wait for it. */
  #serveQueue(key: KeyState): void {
    if (key.waiting === 0) return
    const { clock, supply } = this.#options
    const nowMs = clock.now()
    while (key.waiting > 0) {
      const standing = standingOf(key, nowMs, supply)
      if ((standing !== 'open' && standing !== 'probe') || !supply.take(key.id)) break
      const waiter = this.#queue.next(key)
      const candidate = waiter?.candidates.get(key)
      if (waiter === null || candidate === undefined)
        throw new Error('`waiting` of a key is above 0, but the queue has no request for it')
      this.#stopWatching(waiter)
      const { request } = waiter
      const how = standing === 'probe' ? 'probe' : request.route.length === 1 ? 'only' : 'load'
      const waitUs = clock.monotonicUs() - waiter.sinceUs
      const chosen = { candidate, how, score: null } as const
      waiter.serve(this.#hold(chosen, request.route, this.#query(request, nowMs), waitUs))
      this.#paceMs += SHARE_OF_NEWEST_PACE * (Math.min(nowMs - this.#servedAtMs, MAX_PACE_MS) - this.#paceMs)
      this.#servedAtMs = nowMs
    }
    this.#watchWake(key, nowMs)
  }

  /** Wakes the queue of the key when its cool-down or open breaker ends. */
  #watchWake(key: KeyState, nowMs: number): void {
    const atMs = usableAtMs(key, nowMs)
    if (key.waiting === 0 || atMs <= nowMs) return
    key.wake.atMs = atMs
    this.#options.deadlines.watch(key.wake)
  }

  /** Rejects the requests that wait for one of these keys and that no key can serve before their deadline. */
  #rejectUnservable(keys: Iterable<KeyState>, nowMs: number): void {
    if (this.#queue.size === 0) return
    const touched = [...keys].filter((key) => key.waiting > 0)
    if (touched.length === 0) return
    for (const waiter of this.#queue.all()) {
      if (!touched.some((key) => waiter.candidates.has(key))) continue
      const all = [...waiter.candidates.keys()]
      if (!canServeInTime(all, waiter.deadline.atMs, nowMs)) this.#leave(waiter, this.#noCapacity(all, nowMs))
    }
  }

  #noCapacity(keys: readonly KeyState[], nowMs: number): GatewayError {
    const atMs = Math.min(...keys.map((key) => usableAtMs(key, nowMs)))
    const estimateMs = Math.min(MAX_ESTIMATE_MS, this.#paceMs * (this.#queue.size + 1))
    const waitMs = atMs === Infinity || atMs <= nowMs ? estimateMs : atMs - nowMs
    const message = describeNoRoom(keys, nowMs)
    return new GatewayError('NO_UPSTREAM_CAPACITY', {
      retryAfterSeconds: Math.max(1, waitMs / 1000),
      ...(message === null ? {} : { message }),
    })
  }

  #announcer(key: KeyState): Announce {
    return (kind, untilMs, reason) => {
      this.#options.announce({ keyId: key.id, kind, untilMs, reason })
    }
  }
}

function untriedKeys({ route, tried }: SlotRequest): KeyState[] {
  return route.filter(({ key }) => !tried.has(key.id)).map(({ key }) => key)
}

function canServeInTime(keys: readonly KeyState[], deadlineMs: number, nowMs: number): boolean {
  return keys.some((key) => roomAtMs(key, nowMs) <= deadlineMs)
}
