import { expect, it } from 'vitest'
import { LeasedSlots } from '../../../src/front/limits/leased-slots.ts'
import { LeaseWorld } from '../../support/lease-world.ts'
import type { WorldFront } from '../../support/lease-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const SLOTS = 10

const LASTS_MS = 200

/** What runs at the upstream, of all fronts. */
class Upstream {
  running = 0
  most = 0
}

/** Requests that wait at a front for a slot. */
class Queue {
  waiting = 0
  served = 0
  readonly #world: LeaseWorld
  readonly #slots: LeasedSlots
  readonly #upstream: Upstream
  readonly #lastsMs: number

  constructor(world: LeaseWorld, front: WorldFront, upstream: Upstream, lastsMs = LASTS_MS) {
    this.#world = world
    this.#upstream = upstream
    this.#lastsMs = lastsMs
    this.#slots = new LeasedSlots(front.book)
    this.#slots.onSupply(() => {
      this.#serve()
    })
    this.#slots.declare([{ id: 'key', slots: SLOTS }])
  }

  add(count: number): void {
    this.waiting += count
    this.#serve()
  }

  #serve(): void {
    while (this.waiting > 0 && this.#slots.take('key')) {
      this.waiting -= 1
      this.served += 1
      this.#upstream.running += 1
      this.#upstream.most = Math.max(this.#upstream.most, this.#upstream.running)
      this.#world.after(this.#lastsMs, () => {
        this.#upstream.running -= 1
        this.#slots.give('key')
        this.#serve()
      })
    }
    if (this.waiting > 0) this.#slots.want('key')
    else this.#slots.unwant('key')
  }
}

it('serves at a front that starts while the control process is killed again and again', async () => {
  const random = new SeededRandom(1)
  const world = new LeaseWorld({ fronts: 2, random: () => random.next() })
  const [old, killed] = world.fronts as [WorldFront, WorldFront]
  const upstream = new Upstream()
  const busy = new Queue(world, old, upstream)
  await world.run(100)
  // The one that is busy has borrowed all slots when the other is killed.
  busy.add(60)
  await world.run(500)
  world.crash(killed)
  const young = new Queue(world, killed, upstream)
  for (let kill = 0; kill < 3; kill++) {
    world.restartAuthority(3_900)
    young.add(4)
    await world.run(4_000)
  }
  expect(young.served).toBe(12)
  expect(busy.served).toBe(60)

  busy.add(100)
  young.add(100)
  await world.run(30_000)
  expect(upstream.most).toBe(SLOTS)
  expect([young.waiting, busy.waiting]).toEqual([0, 0])
})

it('serves at a front that has never heard of a control process', async () => {
  const random = new SeededRandom(1)
  const world = new LeaseWorld({ fronts: 1, random: () => random.next() })
  world.restartAuthority(60_000)
  const queue = new Queue(world, world.fronts[0] as WorldFront, new Upstream())
  queue.add(12)
  await world.run(6_000)
  expect(queue.served).toBe(12)
})

it('gives a front its share only when requests on borrowed slots have had time to end', async () => {
  const random = new SeededRandom(1)
  const world = new LeaseWorld({ fronts: 2, random: () => random.next() })
  const [old, killed] = world.fronts as [WorldFront, WorldFront]
  const upstream = new Upstream()
  const busy = new Queue(world, old, upstream, 3_000)
  await world.run(100)
  busy.add(1_000)
  await world.run(500)
  world.crash(killed)
  const young = new Queue(world, killed, upstream, 3_000)
  world.restartAuthority(20_000)
  young.add(1_000)
  await world.run(15_000)
  expect(young.served).toBeGreaterThanOrEqual(SLOTS)
  expect(upstream.most).toBe(SLOTS)
})
