import { randomUUID } from 'node:crypto'
import { loadOpen, notServed, requestFor } from '../measure.ts'
import { evenly } from '../open-loop.ts'
import type { OpenAnswer } from '../open-loop.ts'
import { Problems } from '../problems.ts'
import { countingPrompt, countingText, steering } from '../prompts.ts'
import type { Prompt } from '../prompts.ts'
import type { Figure } from '../result.ts'
import type { Row } from '../rows.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'
import { totalsOf } from '../simulator-control.ts'
import type { SimulatorTotals } from '../simulator-control.ts'

const CREDENTIAL = 'bench-chat'
const LENGTHS = [5, 12, 20, 33]
const PROMPT_TOKENS = 60
const ENDPOINTS = { chat: 'chat.completions', messages: 'messages' } as const

export const ACCOUNTING: Scenario = {
  name: 'accounting',
  title: 'Accounting',
  about:
    'Answers that are known in advance: every event, every token and every row of the request log is compared. One difference fails it.',
  lacks: () => null,
  need: ({ doses: { accounted } }) => ({
    requests: accounted,
    promptTokens: accounted * PROMPT_TOKENS,
    completionTokens: accounted * Math.max(...LENGTHS) * 3,
  }),
  run,
}

interface Asked {
  readonly prompt: Prompt
  readonly upTo: number
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses } = bench
  const tag = randomUUID()
  const asked = Array.from({ length: doses.accounted }, (_, index) => askedAt(index, bench))
  const times = evenly(doses.accounted / doses.seconds, doses.seconds)
  const plan = asked.map(({ prompt }, index) => ({ ...requestFor(target, prompt, { tag }), atMs: times[index] ?? 0 }))
  const answers: OpenAnswer[] = []
  const before = await ledgerOf(bench)
  const load = await loadOpen(bench, plan, (answer) => {
    answers.push(answer)
    return faultOf(answer, asked[answer.index] as Asked, target.isSimulated)
  })
  const problems = new Problems()
  const served = answers.filter((answer) => notServed(answer) === null)
  const rows = await target.rows?.tagged(tag, answers.filter(({ status }) => status !== 0).length, bench.signal)
  let wrongRows = 0
  const notes: string[] = []
  if (rows === undefined) {
    notes.push(`no rows were compared: set SLUICE_TOKEN, or run sluice login --url ${target.url}`)
  } else if (rows.length === 0) {
    problems.add("the token sees no row of these requests: use that of the key's owner or of an admin of the platform")
  } else {
    for (const problem of rowFaults(rows, answers, asked)) {
      wrongRows += 1
      problems.add(problem)
    }
  }
  const after = await ledgerOf(bench)
  if (before !== null && after !== null) for (const fault of ledgerFaults(before, after, served)) problems.add(fault)
  const tokens = sumOf(served, 'prompt') + sumOf(served, 'completion')
  const figures: Figure[] = [
    ...load.figures,
    // Without rows, a real provider's tokens have no counterpart.
    ...(rows === undefined
      ? []
      : ([
          { label: 'rows compared', value: rows.length, unit: '' },
          { label: 'tokens compared', value: tokens, unit: '' },
        ] as const)),
  ]
  return {
    ...load,
    failures: load.failures + wrongRows + (problems.lines.length > 0 && wrongRows === 0 ? 1 : 0),
    problems: [...load.problems, ...problems.lines, ...notes],
    figures,
  }
}

function askedAt(index: number, { target }: Bench): Asked {
  const upTo = LENGTHS[index % LENGTHS.length] ?? 1
  const content = target.isSimulated
    ? `Count to ${upTo}. ${steering({ text: countingText(upTo) })}`
    : countingPrompt(upTo)
  const protocol = index % 8 < 4 ? 'chat' : 'messages'
  const stream = index % 16 < 8
  return { upTo, prompt: { protocol, model: target.model, stream, content, maxTokens: upTo * 3 } }
}

/** The difference between an answer and what it must be; null: there is none. */
function faultOf(answer: OpenAnswer, { prompt, upTo }: Asked, isSimulated: boolean): string | null {
  const problem = notServed(answer)
  if (problem !== null) return problem
  const text = answer.text.trim()
  if (text !== countingText(upTo)) return `an answer lacks ${missingFrom(text, upTo)}`
  if (answer.usage === null) return 'an answer reports no usage'
  if (!isSimulated) return null
  // The simulator sends each word as one event.
  if (prompt.stream && answer.events !== upTo) return `${answer.events} events of ${upTo}`
  const { completion } = answer.usage
  return completion === upTo ? null : `an answer of ${upTo} tokens reports ${completion}`
}

function missingFrom(text: string, upTo: number): string {
  const words = new Set(text.split(/\s+/))
  const missing = Array.from({ length: upTo }, (_, index) => String(index + 1)).filter((word) => !words.has(word))
  return missing.length === 0 ? 'the order of its words' : `${missing.slice(0, 5).join(', ')} of 1 to ${upTo}`
}

function* rowFaults(rows: readonly Row[], answers: readonly OpenAnswer[], asked: readonly Asked[]): Generator<string> {
  const rowsOf = new Map<string, Row[]>()
  for (const row of rows) rowsOf.set(row.id, [...(rowsOf.get(row.id) ?? []), row])
  for (const answer of answers) {
    if (answer.status === 0) continue
    const [row, ...more] = rowsOf.get(answer.requestId) ?? []
    rowsOf.delete(answer.requestId)
    if (row === undefined) yield 'a request has no row'
    else if (more.length > 0) yield `a request has ${more.length + 1} rows`
    else yield* differences(row, answer, asked[answer.index] as Asked)
  }
  for (let left = rowsOf.size; left > 0; left--) yield 'a row belongs to no request'
}

function* differences(row: Row, { status, usage }: OpenAnswer, { prompt }: Asked): Generator<string> {
  const expected: ReadonlyArray<readonly [string, unknown, unknown]> = [
    ['status', row.status, status],
    ['endpoint', row.endpoint, ENDPOINTS[prompt.protocol]],
    ['model', row.model, prompt.model],
    ['stream', row.stream, prompt.stream],
    ['aborted', row.aborted, false],
    ...(usage === null
      ? []
      : ([
          ['prompt_tokens', row.prompt_tokens, usage.prompt],
          ['completion_tokens', row.completion_tokens, usage.completion],
        ] as const)),
  ]
  for (const [name, actual, wanted] of expected) {
    if (actual !== wanted) yield `a row has ${name} ${String(actual)}, its answer ${String(wanted)}`
  }
}

/** The counts of the upstream; null: they are not known. */
async function ledgerOf({ target }: Bench): Promise<SimulatorTotals | null> {
  return target.laboratory === null ? null : totalsOf(target.laboratory.simulatorUrl, CREDENTIAL)
}

function* ledgerFaults(
  before: SimulatorTotals,
  after: SimulatorTotals,
  served: readonly OpenAnswer[],
): Generator<string> {
  for (const [what, count, reported] of [
    ['tokens of prompts', after.promptTokens - before.promptTokens, sumOf(served, 'prompt')],
    ['tokens of answers', after.completionTokens - before.completionTokens, sumOf(served, 'completion')],
  ] as const) {
    if (count !== reported) yield `the upstream counts ${count} ${what}, the answers report ${reported}`
  }
}

function sumOf(answers: readonly OpenAnswer[], kind: 'prompt' | 'completion'): number {
  return answers.reduce((sum, { usage }) => sum + (usage?.[kind] ?? 0), 0)
}
