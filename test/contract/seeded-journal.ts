import type { JournalRecord } from '../../src/shared/core/request-record.ts'
import { aBegin, anEnd } from './journal-records.ts'
import type { TestJournal, TestWriter } from './test-journal.ts'

/**
 * Fills a journal with about `records` records of five writers that are all dead in the end. Resolves to the settlement that
 * each request must be found with. The same seed gives the same journal.
 */
export function seededJournal(journal: TestJournal, seed: number, records: number): Map<string, string> {
  const random = mulberry32(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const integer = (limit: number): number => Math.floor(random() * limit)
  const writers = Array.from({ length: 5 }, (_, index) => journal.writer(`front-${index}`))
  const open = new Map<TestWriter, string[]>(writers.map((writer) => [writer, []]))
  const expected = new Map<string, string>()

  const identity = (id: string) => ({
    atMs: Date.UTC(2025, 5, 1) + (hash(id) % (3 * 86_400_000)),
    keyId: hash(id) % 7 === 0 ? null : `key-${hash(id) % 5}`,
    userId: `user-${hash(id) % 3}`,
    model: `model-${hash(id) % 4}`,
  })
  const end = (id: string): JournalRecord =>
    anEnd(id, {
      ...identity(id),
      status: pick([200, 200, 200, 429, 499, 503]),
      providerId: pick([null, 'openai']),
      settlement: 'exact',
      aborted: random() < 0.1,
      ttftUs: random() < 0.3 ? null : integer(1e6),
      totalUs: integer(1e8),
      overheadUs: integer(1_000),
      usage: {
        promptTokens: integer(1e5),
        completionTokens: integer(1e5),
        cachedTokens: integer(100),
        cacheWriteTokens: 0,
        reasoningTokens: integer(1_000),
      },
    })

  for (let written = 0, next = 0; written < records;) {
    const writer = pick(writers)
    const begun = open.get(writer) ?? []
    const burst: JournalRecord[] = []
    for (let i = integer(400); i >= 0; i--) {
      const action = random()
      if (action < 0.45) {
        const id = `r${seed}-${next++}`
        begun.push(id)
        expected.set(id, 'interrupted')
        burst.push(aBegin(id, identity(id)))
      } else if (action < 0.95 && begun.length > 0) {
        const [id] = begun.splice(integer(begun.length), 1) as [string]
        expected.set(id, 'exact')
        burst.push(end(id))
      } else {
        // Refused before it had begun.
        const id = `r${seed}-${next++}`
        expected.set(id, 'exact')
        burst.push(end(id))
      }
    }
    writer.write(...burst)
    written += burst.length
    if (random() < 0.2) writer.rotate()
  }
  for (let index = 0; index < writers.length; index++) journal.endWriter(`front-${index}`)
  return expected
}

function hash(text: string): number {
  let value = 2_166_136_261
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16_777_619)
  return value >>> 0
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}
