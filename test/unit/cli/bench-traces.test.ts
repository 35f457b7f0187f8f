import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { conversationsOf } from '../../../src/cli/bench/conversations.ts'
import { excerpt, readTrace, SHIPPED } from '../../../src/cli/bench/traces.ts'
import type { TraceRequest } from '../../../src/cli/bench/traces.ts'

const MOONCAKE = fileURLToPath(new URL('../../fixtures/traces/mooncake-conversation.jsonl', import.meta.url))
const README = fileURLToPath(new URL('../../fixtures/traces/README.md', import.meta.url))

it("reads the part of Azure's trace that is shipped", () => {
  const trace = readTrace(SHIPPED.azure)
  expect(trace).toHaveLength(2_000)
  expect(trace[0]).toEqual({ atMs: 0, promptTokens: 374, completionTokens: 44, blocks: null })
  // 18:15:46.680 to 18:15:50.995
  expect(trace[1]).toMatchObject({ atMs: 4_315, promptTokens: 396, completionTokens: 109 })
})

it("reads Mooncake's trace, shipped and as it is published", () => {
  const trace = readTrace(SHIPPED.mooncake)
  expect(trace).toHaveLength(1_200)
  expect(readTrace(MOONCAKE).slice(0, 1_200)).toEqual(trace)
  expect(trace[0]).toMatchObject({ atMs: 0, promptTokens: 6_758, completionTokens: 500 })
  expect(trace[0]?.blocks).toHaveLength(14)
})

it.each([
  [README, 'is no trace: use a CSV file with the head TIMESTAMP'],
  ['/no/such/trace.csv', 'cannot be read'],
])('refuses %s', (file, says) => {
  expect(() => readTrace(file)).toThrow(says)
})

it('plays the beginning of a trace faster, and never fewer than ten requests', () => {
  const request = { promptTokens: 1, completionTokens: 1, blocks: null }
  const trace = Array.from({ length: 20 }, (_, second) => ({ ...request, atMs: second * 1_000 }))
  expect(excerpt(trace, 4, 4).map(({ atMs }) => atMs)).toEqual(trace.slice(0, 16).map(({ atMs }) => atMs / 4))
  expect(excerpt(trace, 1, 1).map(({ atMs }) => atMs)).toEqual(trace.slice(0, 10).map(({ atMs }) => atMs))
})

it('finds the conversations of a trace by the prompts that go on', () => {
  const prompts = [
    [0, 1, 2, 3],
    [0, 10, 11],
    [0, 1, 2, 4, 5],
    [0, 20],
    [0, 1, 2, 4, 6, 7],
  ]
  const trace = prompts.map((blocks, atMs): TraceRequest => ({ atMs, promptTokens: 1, completionTokens: 1, blocks }))
  const turns = conversationsOf(trace)
  expect(turns.map(({ conversation }) => conversation)).toEqual([0, 1, 0, 2, 0])
  expect(turns[4]?.messages).toEqual([
    [0, 1, 2, 3],
    [4, 5],
    [6, 7],
  ])
})
