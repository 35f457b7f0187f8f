import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Slot } from '../../../src/shared/core/deployment.ts'
import { WaitingSlot } from '../../../src/front/scheduling/waiting-slot.ts'
import { keysOf, SchedulingWorld, settled, upstreamKey } from '../../support/scheduling-world.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

interface TraceRequest {
  readonly timestamp: number
  readonly output_length: number
  readonly hash_ids: readonly number[]
}

const KEYS = 8
const SLOTS = 16
/** Blocks of 512 tokens that a key's cache holds: 2 million tokens. */
const CACHE_BLOCKS = 4_000
const MS_PER_TOKEN = 20
const MS_PER_BLOCK = 50

const trace = readFileSync(new URL('../../fixtures/traces/mooncake-conversation.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as TraceRequest)

/** Of one upstream key: the blocks of the prompts it has seen, least recently used ones forgotten. */
class PrefixCache {
  readonly #blocks = new Set<number>()

  /** How many blocks at the beginning of a prompt it holds. */
  use(blocks: readonly number[]): number {
    const hits = blocks.findIndex((block) => !this.#blocks.has(block))
    for (const block of blocks) {
      this.#blocks.delete(block)
      this.#blocks.add(block)
    }
    for (const block of this.#blocks) {
      if (this.#blocks.size <= CACHE_BLOCKS) break
      this.#blocks.delete(block)
    }
    return hits < 0 ? blocks.length : hits
  }
}

interface Result {
  readonly hits: number
  readonly blocks: number
  /** Requests of the busiest key over the average of all keys. */
  readonly skew: number
  readonly waited: number
  readonly mostAtOnce: number
}

/** Plays the trace as it was recorded. @param affinityOf the word for a request's conversation */
async function replay(affinityOf: (request: TraceRequest) => string | null): Promise<Result> {
  const keys = Array.from({ length: KEYS }, (_, index) => upstreamKey(`key-${index}`, { maxConcurrency: SLOTS }))
  const world = new SchedulingWorld(keysOf(...keys))
  const caches = new Map(keys.map(({ id }) => [id, new PrefixCache()]))
  const served = new Map<string, number>()
  const running: Array<{ endMs: number; slot: Slot }> = []
  const startMs = world.nowMs
  let hits = 0
  let blocks = 0
  let waited = 0
  let mostAtOnce = 0
  const begin = (slot: Slot, request: TraceRequest): void => {
    const { id } = slot.deployment.key
    const found = caches.get(id)?.use(request.hash_ids) ?? 0
    const firstByteMs = 200 + (request.hash_ids.length - found) * MS_PER_BLOCK
    hits += found
    blocks += request.hash_ids.length
    served.set(id, (served.get(id) ?? 0) + 1)
    mostAtOnce = Math.max(mostAtOnce, world.inFlight(id))
    slot.answered({ ok: true, waitMs: firstByteMs, headroom: null })
    running.push({ endMs: world.nowMs + firstByteMs + request.output_length * MS_PER_TOKEN, slot })
    running.sort((a, b) => a.endMs - b.endMs)
  }
  for (const request of trace) {
    const atMs = startMs + request.timestamp
    while ((running[0]?.endMs ?? Infinity) <= atMs) {
      const ended = running.shift()
      world.pass((ended?.endMs ?? 0) - world.nowMs)
      ended?.slot.release({ kind: 'ok' })
      await settled()
    }
    world.pass(atMs - world.nowMs)
    const got = world.scheduler.acquire(world.request({ affinity: affinityOf(request), maxWaitMs: 600_000 }))
    if (got instanceof WaitingSlot) {
      waited += 1
      void got.slot.then((slot) => {
        begin(slot, request)
      })
    } else begin(got, request)
  }
  const mean = trace.length / KEYS
  return { hits, blocks, skew: Math.max(...served.values()) / mean, waited, mostAtOnce }
}

/** The first block is the system prompt that all have in common; the next ones hold the first message. */
function conversationOf({ hash_ids }: TraceRequest): string {
  return hash_ids.slice(0, 3).join(' ')
}

it('finds half as many prompt blocks again in the caches of keys as random choice, with no key overloaded', async () => {
  const random = new SeededRandom(7)
  const byChance = await replay(() => String(random.next()))
  const byLoad = await replay(() => null)
  const byAffinity = await replay(conversationOf)
  const line = ({ hits, blocks, skew, mostAtOnce }: Result): string =>
    `${((100 * hits) / blocks).toFixed(1)} % of ${blocks} blocks, busiest key ${skew.toFixed(2)} of the mean, ${mostAtOnce} at once`
  console.log(`prompt blocks found in the caches of ${KEYS} keys, ${trace.length} requests:
  random    ${line(byChance)}
  by load   ${line(byLoad)}
  affinity  ${line(byAffinity)}`)
  expect(byAffinity.hits).toBeGreaterThan(1.5 * byChance.hits)
  expect(byAffinity.hits).toBeGreaterThan(1.5 * byLoad.hits)
  expect(byAffinity.skew).toBeLessThan(1.5)
  expect(byAffinity.mostAtOnce).toBeLessThanOrEqual(SLOTS)
})
