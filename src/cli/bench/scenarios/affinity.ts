import { conversationsOf } from '../conversations.ts'
import type { Turn } from '../conversations.ts'
import { SLUICE } from '../laboratory.ts'
import { Latencies } from '../latencies.ts'
import { keyHeaders, notServed } from '../measure.ts'
import { openLoop } from '../open-loop.ts'
import type { PlannedRequest } from '../open-loop.ts'
import { Problems } from '../problems.ts'
import type { Policy } from '../result.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'
import { NO_FIGURES } from '../scenario.ts'
import { readTrace, SHIPPED } from '../traces.ts'

/** The first turns of the recording fill the scenario at this rate. */
const PER_SECOND = 60
/** Work of the replicas per second of theirs, if no cache holds anything. Above 1, caches decide whether the queues grow. */
const BUSY = 1.1
/** Length of a block of 512 tokens in the requests: the replicas know the blocks, and the gateway needs no more than to tell them apart. */
const BLOCK_BYTES = 64
/** Length of the system prompt. The gateway does not keep shorter prompts together, as providers do not cache them. */
const SYSTEM_BYTES = 6_000

/** Returns the index of the replica for each turn. */
type Choice = (turn: Turn, index: number) => number

export const AFFINITY: Scenario = {
  name: 'affinity',
  title: 'Prompt affinity',
  about:
    'Conversations of several turns of a recorded trace, sent to replicas with prompt caches: through the gateway, and without it in random order, in turn and by conversation. All at the same time, each with replicas of its own.',
  lacks: ({ laboratory }) =>
    laboratory === null ? 'only the laboratory (without --url) has replicas whose caches can be counted' : null,
  need: () => ({ requests: 0, promptTokens: 0, completionTokens: 0 }),
  run,
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses, trace } = bench
  const { laboratory } = target
  if (laboratory === null) throw new Error('affinity runs in the laboratory only')
  const { replicas, replicaModel: model } = laboratory
  const source = trace.some(({ blocks }) => blocks !== null) ? trace : readTrace(SHIPPED.mooncake)
  const turns = spread(
    ofSeveralTurns(conversationsOf(source)).slice(0, Math.ceil(PER_SECOND * doses.seconds)),
    doses.seconds,
  )
  const count = replicas.credentialsOf(SLUICE).length
  const blocks = turns.reduce((sum, turn) => sum + turn.blocks.length, 0)
  replicas.prepare(
    turns.map((turn) => turn.blocks),
    (BUSY * count * doses.seconds * 1000) / blocks,
  )
  const bodies = turns.map((turn, index) => bodyOf(turn, index, model))
  const direct = (policy: string, choice: Choice): PlannedRequest[] =>
    turns.map((turn, index) => ({
      atMs: turn.atMs,
      url: `${replicas.baseUrl}/chat/completions`,
      headers: keyHeaders(replicas.credentialsOf(policy)[choice(turn, index)] ?? ''),
      body: bodies[index] ?? '',
    }))
  const plans: Readonly<Record<string, readonly PlannedRequest[]>> = {
    [SLUICE]: turns.map((turn, index) => ({
      atMs: turn.atMs,
      url: `${target.url}/v1/chat/completions`,
      headers: keyHeaders(target.key),
      body: bodies[index] ?? '',
    })),
    random: direct('random', () => Math.floor(Math.random() * count)),
    'round-robin': direct('round-robin', (_, index) => index % count),
    sticky: direct('sticky', ({ conversation }) => spreadHash(conversation) % count),
  }
  const problems = new Problems()
  let failures = 0
  const [total, sentLate] = [new Latencies(), new Latencies()]
  const policies = await Promise.all(
    Object.entries(plans).map(async ([name, plan]): Promise<Policy> => {
      const waits = new Latencies()
      await openLoop(plan, {
        signal: bench.signal,
        onAnswer: (answer) => {
          sentLate.add(answer.sentLateMs)
          const problem = notServed(answer)
          if (problem !== null) {
            failures += 1
            problems.add(`${name}: ${problem}`)
            return
          }
          waits.add(answer.firstMs ?? answer.totalMs)
          if (name === SLUICE) total.add(answer.totalMs)
        },
      })
      const { hits, blocks: read, requests } = replicas.tallyOf(name)
      return {
        name,
        hitRate: hits / Math.max(1, read),
        p50WaitMs: waits.at(0.5),
        p99WaitMs: waits.at(0.99),
        skew: Math.max(...requests) / Math.max(1, turns.length / count),
      }
    }),
  )
  return {
    ...NO_FIGURES,
    requests: turns.length * policies.length,
    failures,
    problems: problems.lines,
    total: total.summary(),
    sentLate: sentLate.summary(),
    figures: [
      { label: 'sent', value: turns.length / doses.seconds, unit: '/s' },
      { label: 'conversations', value: new Set(turns.map(({ conversation }) => conversation)).size, unit: '' },
      { label: 'hit rate of one cache without a bound', value: 100 * mostHits(turns), unit: '%' },
    ],
    policies,
  }
}

/** A prompt cache has nothing for a conversation of one turn. */
function ofSeveralTurns(turns: readonly Turn[]): Turn[] {
  const counts = new Map<number, number>()
  for (const { conversation } of turns) counts.set(conversation, (counts.get(conversation) ?? 0) + 1)
  return turns.filter(({ conversation }) => (counts.get(conversation) ?? 0) > 1)
}

/** The turns over so many seconds, in the proportions of the recording. */
function spread(turns: readonly Turn[], seconds: number): Turn[] {
  const lastMs = Math.max(1, turns.at(-1)?.atMs ?? 1)
  return turns.map((turn) => ({ ...turn, atMs: (turn.atMs / lastMs) * seconds * 1000 }))
}

function bodyOf(turn: Turn, index: number, model: string): string {
  const [first = [], ...later] = turn.messages
  const [system, ...asked] = first
  const messages = [
    { role: 'system', content: textOf(system === undefined ? [] : [system], SYSTEM_BYTES) },
    { role: 'user', content: textOf(asked) },
    ...later.flatMap((blocks) => [
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: textOf(blocks) },
    ]),
  ]
  // The replicas look for the number at the beginning.
  return JSON.stringify({ user: `turn-${index}`, model, stream: true, messages })
}

function textOf(blocks: readonly number[], bytes = BLOCK_BYTES): string {
  return blocks.map((block) => `block ${block}, `.repeat(Math.ceil(bytes / 8)).slice(0, bytes)).join('')
}

/** The conversations over all replicas, whatever their order (Knuth's multiplicative hash). */
function spreadHash(conversation: number): number {
  return Math.imul(conversation + 1, 0x9e3779b1) >>> 8
}

/** The share of blocks that a cache finds again that forgets nothing. */
function mostHits(turns: readonly Turn[]): number {
  const seen = new Set<number>()
  let hits = 0
  let blocks = 0
  for (const turn of turns) {
    const firstNew = turn.blocks.findIndex((block) => !seen.has(block))
    hits += firstNew === -1 ? turn.blocks.length : firstNew
    blocks += turn.blocks.length
    for (const block of turn.blocks) seen.add(block)
  }
  return hits / Math.max(1, blocks)
}
