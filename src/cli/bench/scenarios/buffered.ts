import { loadBuffered } from '../buffered-load.ts'
import { closedLoop } from '../closed-loop.ts'
import { Latencies } from '../latencies.ts'
import { cpuOf, notServed, requestFor, withCpu } from '../measure.ts'
import type { PlannedRequest } from '../open-loop.ts'
import { Problems } from '../problems.ts'
import { countingPrompt, filler, steering } from '../prompts.ts'
import type { Cpu, Step } from '../result.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'

const PROMPT_BYTES = 450
/** Approximate tokens of the prompt. */
const PROMPT_TOKENS = 150
/** A deployment that is slow, or hangs, gets no further request of a step after this. */
const MAX_STEP_MS = 60_000

export const BUFFERED: Scenario = {
  name: 'buffered',
  title: 'Buffered',
  about:
    'Chat requests with whole answers, in steps of more and more connections. Each connection sends its next request when it has an answer.',
  lacks: () => null,
  need: ({ doses: { connections, step, tokens } }) => {
    const requests =
      'requests' in step ? connections.reduce((sum, count) => sum + Math.max(count, step.requests), 0) : 0
    return { requests, promptTokens: requests * PROMPT_TOKENS, completionTokens: requests * tokens * 3 }
  },
  run,
}

type Request = Omit<PlannedRequest, 'atMs'>

interface StepLoad {
  /** Milliseconds of each right answer. */
  readonly totalMs: readonly number[]
  readonly failures: number
  readonly seconds: number
}

async function run(bench: Bench): Promise<Outcome> {
  const { doses } = bench
  const request = bufferedRequest(bench)
  const all = new Latencies()
  const problems = new Problems()
  const steps: Step[] = []
  let requests = 0
  let failures = 0
  let cpu: Cpu | null = null
  for (const connections of doses.connections) {
    bench.signal.throwIfAborted()
    const work = (): Promise<StepLoad> => loadStep(bench, request, connections, problems)
    // The last step has the most connections: the cost of a request under load.
    const isLast = connections === doses.connections.at(-1)
    const { result, cpuUs } = isLast ? await withCpu(bench, work) : { result: await work(), cpuUs: null }
    const { totalMs, seconds } = result
    for (const ms of totalMs) all.add(ms)
    requests += totalMs.length + result.failures
    failures += result.failures
    cpu = cpuOf(cpuUs, totalMs.length, null)
    if (totalMs.length === 0) {
      if (result.failures === 0) failures += 1
      problems.add(`no answer at ${connections} connections: the steps after it were left out`)
      break
    }
    const latencies = Latencies.of(totalMs)
    steps.push({ connections, perSecond: totalMs.length / seconds, p50: latencies.at(0.5), p99: latencies.at(0.99) })
  }
  bench.signal.throwIfAborted()
  return {
    requests,
    failures,
    problems: problems.lines,
    perSecond: steps.length === 0 ? null : Math.max(...steps.map(({ perSecond }) => perSecond)),
    events: null,
    total: all.summary(),
    first: null,
    lateness: null,
    sentLate: null,
    cpu,
    figures: [],
    steps,
  }
}

/** The request of this scenario, with which a new gateway of the laboratory is warmed up, too. */
export function bufferedRequest({ target, doses }: Pick<Bench, 'target' | 'doses'>): Request {
  const content = target.isSimulated
    ? `${filler(PROMPT_BYTES)}${steering({ tokens: doses.tokens })}`
    : countingPrompt(doses.tokens)
  const maxTokens = doses.tokens * 3
  return requestFor(target, { protocol: 'chat', model: target.model, stream: false, content, maxTokens })
}

async function loadStep(bench: Bench, request: Request, connections: number, problems: Problems): Promise<StepLoad> {
  const { doses, signal, spend } = bench
  if ('seconds' in doses.step) {
    const { totalMs, failures, statuses, seconds } = await loadBuffered({
      ...request,
      connections,
      dose: doses.step,
      signal,
    })
    let refused = 0
    for (const [status, count] of Object.entries(statuses)) {
      if (status.startsWith('2')) continue
      refused += count
      problems.add(`${count} answers with status ${status} at ${connections} connections`)
    }
    if (failures > refused)
      problems.add(`${failures - refused} requests without an answer at ${connections} connections`)
    return { totalMs, failures, seconds }
  }
  const totalMs: number[] = []
  let failures = 0
  const seconds = await closedLoop(request, {
    connections,
    requests: Math.max(connections, doses.step.requests),
    maxMs: MAX_STEP_MS,
    signal,
    onAnswer: (answer) => {
      const problem = notServed(answer)
      if (problem === null) totalMs.push(answer.totalMs)
      else {
        failures += 1
        problems.add(`${problem}, at ${connections} connections`)
      }
      // A provider may charge for an answer that reports no usage.
      const { prompt, completion } = answer.usage ?? { prompt: PROMPT_TOKENS, completion: doses.tokens * 3 }
      if (answer.status === 200 || answer.usage !== null) spend.add(prompt, completion)
    },
  })
  return { totalMs, failures, seconds }
}
