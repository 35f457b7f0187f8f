import { DeadlineClock } from '../../src/shared/runtime/deadlines.ts'
import type { AttemptOutcome, Slot } from '../../src/shared/core/deployment.ts'
import type { KeyHealthEvent } from '../../src/shared/core/key-health-event.ts'
import type { ModelTarget, Provider, Snapshot, UpstreamKey } from '../../src/shared/core/snapshot.ts'
import { LocalSlots } from './local-slots.ts'
import { Scheduler } from '../../src/front/scheduling/scheduler.ts'
import type { SlotRequest } from '../../src/front/scheduling/slot-request.ts'
import type { SlotSupply } from '../../src/front/scheduling/slot-supply.ts'
import { WaitingSlot } from '../../src/front/scheduling/waiting-slot.ts'
import { SeededRandom } from './seeded-random.ts'

export function upstreamKey(id: string, members: Partial<UpstreamKey> = {}): UpstreamKey {
  return { id, name: id, credential: `secret-${id}`, enabled: true, weight: 1, maxConcurrency: 10, ...members }
}

export function provider(id: string, keys: readonly UpstreamKey[], members: Partial<Provider> = {}): Provider {
  return {
    id,
    name: id,
    dialect: 'openai-chat',
    baseUrl: 'https://provider.test/v1',
    auth: 'bearer',
    headers: {},
    keys,
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 3_600_000 },
    billsAfterDisconnect: false,
    ...members,
  }
}

export function target(providerId: string, members: Partial<ModelTarget> = {}): ModelTarget {
  return { providerId, upstreamModel: 'upstream-m', weight: 1, ...members }
}

/** A snapshot with one model, `m` by default. */
export function snapshotOf(providers: readonly Provider[], targets: readonly ModelTarget[], modelId = 'm'): Snapshot {
  return { version: 1, keys: [], providers, models: [{ id: modelId, created: 0, ownedBy: 'test', targets }] }
}

/** A snapshot with keys of one provider that all serve the model `m`. */
export function keysOf(...keys: readonly UpstreamKey[]): Snapshot {
  return snapshotOf([provider('p', keys)], [target('p')])
}

export interface WorldOptions {
  readonly random?: () => number
  readonly supply?: SlotSupply
  readonly maxWaiting?: number
}

/** A scheduler in simulated time. */
export class SchedulingWorld {
  nowMs = 1_700_000_000_000
  readonly news: KeyHealthEvent[] = []
  readonly scheduler: Scheduler
  readonly deadlines: DeadlineClock

  constructor(snapshot: Snapshot, options: WorldOptions = {}) {
    const clock = { now: () => this.nowMs, monotonicUs: () => this.nowMs * 1000 }
    const seeded = new SeededRandom(1)
    this.deadlines = new DeadlineClock(clock)
    this.scheduler = new Scheduler({
      supply: options.supply ?? new LocalSlots(1),
      random: options.random ?? (() => seeded.next()),
      clock,
      deadlines: this.deadlines,
      maxWaiting: options.maxWaiting ?? 1_000,
      announce: (news) => this.news.push(news),
    })
    this.scheduler.update(snapshot)
  }

  /** Lets time pass. Due work runs only at the end. */
  pass(ms: number): void {
    this.nowMs += ms
    this.deadlines.tick()
  }

  request(members: Partial<SlotRequest> = {}): SlotRequest {
    const route = this.scheduler.route('m', 'openai-chat')
    if (route === null) throw new Error('nobody serves the model')
    return { route, tried: new Set(), tenant: 't', affinity: null, maxWaitMs: 10_000, ...members }
  }

  /** Acquires a slot that must be free now. */
  slot(members: Partial<SlotRequest> = {}): Slot {
    const got = this.scheduler.acquire(this.request(members))
    if (got instanceof WaitingSlot) throw new Error('there is none at once')
    return got
  }

  /** Joins the queue; the result shows the state of the wait. */
  wait(members: Partial<SlotRequest> = {}): Waiting {
    const got = this.scheduler.acquire(this.request(members))
    if (!(got instanceof WaitingSlot)) throw new Error('there is a slot at once')
    return new Waiting(got)
  }

  /** Makes one call that takes no time. */
  call(outcome: AttemptOutcome, members: Partial<SlotRequest> = {}): string {
    const slot = this.slot(members)
    slot.release(outcome)
    return slot.deployment.key.id
  }

  /** Number of running calls with a key. */
  inFlight(keyId: string): number {
    return this.scheduler.stats(this.nowMs).keys.find((key) => key.keyId === keyId)?.used ?? 0
  }

  /** Whether a slot is free now; releases it unused. */
  hasRoom(members: Partial<SlotRequest> = {}): boolean {
    try {
      this.slot({ maxWaitMs: 0, ...members }).release({ kind: 'abandoned' })
      return true
    } catch {
      return false
    }
  }
}

export class Waiting {
  readonly place: WaitingSlot
  slot: Slot | null = null
  error: unknown = null

  constructor(place: WaitingSlot) {
    this.place = place
    place.slot.then(
      (slot) => {
        this.slot = slot
      },
      (error: unknown) => {
        this.error = error
      },
    )
  }
}

/** Waits until the callbacks of settled promises have run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await Promise.resolve()
}
