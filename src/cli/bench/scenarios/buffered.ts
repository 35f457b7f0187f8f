import { loadBuffered } from '../buffered-load.ts'
import type { BufferedResult } from '../buffered-load.ts'
import { Latencies } from '../latencies.ts'
import { cpuOf, requestFor, withCpu } from '../measure.ts'
import { Problems } from '../problems.ts'
import { countingPrompt, filler, steering } from '../prompts.ts'
import type { Cpu, Step } from '../result.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'

const PROMPT_BYTES = 450
/** Approximate tokens of the prompt. */
const PROMPT_TOKENS = 150

export const BUFFERED: Scenario = {
  name: 'buffered',
  title: 'Buffered',
  about:
    'Chat requests with whole answers, in steps of more and more connections. Each connection sends its next request when it has an answer.',
  lacks: () => null,
  need: ({ doses: { connections, step, tokens } }) => {
    const requests = 'requests' in step ? connections.length * step.requests : 0
    return { requests, promptTokens: requests * PROMPT_TOKENS, completionTokens: requests * tokens * 3 }
  },
  run,
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses } = bench
  const content = target.isSimulated
    ? `${filler(PROMPT_BYTES)}${steering({ tokens: doses.tokens })}`
    : countingPrompt(doses.tokens)
  const maxTokens = doses.tokens * 3
  const request = requestFor(target, { protocol: 'chat', model: target.model, stream: false, content, maxTokens })
  const all = new Latencies()
  const problems = new Problems()
  const steps: Step[] = []
  let requests = 0
  let failures = 0
  let cpu: Cpu | null = null
  const step = async (connections: number, dose: typeof doses.step): Promise<void> => {
    bench.signal.throwIfAborted()
    const work = (): Promise<BufferedResult> => loadBuffered({ ...request, connections, dose, signal: bench.signal })
    // The last step has the most connections: the cost of a request under load.
    const isLast = connections === doses.connections.at(-1)
    const { result, cpuUs } = isLast ? await withCpu(bench, work) : { result: await work(), cpuUs: null }
    const { totalMs, seconds, statuses } = result
    const latencies = Latencies.of(totalMs)
    for (const ms of totalMs) all.add(ms)
    requests += totalMs.length
    failures += result.failures
    for (const [status, count] of Object.entries(statuses)) {
      if (!status.startsWith('2')) problems.add(`${count} answers with status ${status} at ${connections} connections`)
    }
    const lost =
      result.failures -
      Object.entries(statuses).reduce((sum, [status, count]) => sum + (status.startsWith('2') ? 0 : count), 0)
    if (lost > 0) problems.add(`${lost} requests without an answer at ${connections} connections`)
    bench.spend.add(totalMs.length * PROMPT_TOKENS, totalMs.length * maxTokens)
    steps.push({ connections, perSecond: totalMs.length / seconds, p50: latencies.at(0.5), p99: latencies.at(0.99) })
    cpu = cpuOf(cpuUs, totalMs.length, null)
  }
  if (doses.warmUpSeconds > 0) {
    await loadBuffered({ ...request, connections: 32, dose: { seconds: doses.warmUpSeconds }, signal: bench.signal })
  }
  for (const connections of doses.connections) {
    // autocannon refuses fewer requests than connections.
    const dose = 'requests' in doses.step ? { requests: Math.max(connections, doses.step.requests) } : doses.step
    await step(connections, dose)
  }
  bench.signal.throwIfAborted()
  return {
    requests,
    failures,
    problems: problems.lines,
    perSecond: Math.max(...steps.map(({ perSecond }) => perSecond)),
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
