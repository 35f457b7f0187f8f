import { setTimeout as elapsed } from 'node:timers/promises'
import { Latencies } from './latencies.ts'
import { openLoop } from './open-loop.ts'
import type { OpenAnswer, PlannedRequest } from './open-loop.ts'
import { Problems } from './problems.ts'
import { cpuUsOfTree, cpuUsSince } from './process-use.ts'
import { bodyOf, pathOf } from './prompts.ts'
import type { Prompt } from './prompts.ts'
import type { Cpu, Figure } from './result.ts'
import type { Bench, Outcome } from './scenario.ts'
import { TAG } from './rows.ts'
import type { Target } from './target.ts'

const SETTLEMENT_MS = 1_500
const DEADLINE_MS = 60_000

/**
 * Sends requests when they are due, and judges each answer.
 * @param judge the reason why an answer is wrong; null: it is right
 */
export async function loadOpen(
  bench: Bench,
  plan: readonly PlannedRequest[],
  judge: (answer: OpenAnswer) => string | null,
): Promise<Outcome> {
  const [total, first, lateness, sentLate] = [new Latencies(), new Latencies(), new Latencies(), new Latencies()]
  const problems = new Problems()
  let failures = 0
  let events = 0
  const { cpuUs } = await withCpu(bench, () =>
    openLoop(plan, {
      signal: bench.signal,
      onLateness: (ms) => {
        lateness.add(ms)
      },
      onAnswer: (answer) => {
        sentLate.add(answer.sentLateMs)
        bench.spend.add(answer.usage?.prompt ?? 0, answer.usage?.completion ?? 0)
        events += answer.events
        const problem = judge(answer)
        if (problem !== null) {
          failures += 1
          problems.add(problem)
          return
        }
        total.add(answer.totalMs)
        if (answer.firstMs !== null) first.add(answer.firstMs)
      },
    }),
  )
  return {
    requests: plan.length,
    failures,
    problems: problems.lines,
    perSecond: null,
    events,
    total: total.summary(),
    first: first.summary(),
    lateness: lateness.summary(),
    sentLate: sentLate.summary(),
    cpu: cpuOf(cpuUs, plan.length, events),
    figures: offered(plan),
  }
}

/** The outcome of a load without streams: an answer is no event. */
export function withoutEvents(outcome: Outcome): Outcome {
  const { cpu } = outcome
  return { ...outcome, events: null, first: null, cpu: cpu === null ? null : { ...cpu, perEventUs: null } }
}

/** The rate at which a plan sends: that of the answers is another one where the gateway is too slow. */
function offered(plan: readonly PlannedRequest[]): Figure[] {
  const spanMs = (plan.at(-1)?.atMs ?? 0) - (plan[0]?.atMs ?? 0)
  return spanMs > 0 ? [{ label: 'sent', value: ((plan.length - 1) * 1000) / spanMs, unit: '/s' }] : []
}

export function cpuOf(cpuUs: number | null, requests: number, events: number | null): Cpu | null {
  if (cpuUs === null || requests === 0) return null
  return { perRequestUs: cpuUs / requests, perEventUs: events === null || events === 0 ? null : cpuUs / events }
}

/** Does `work`; returns the CPU that the gateway took for it, settlement included. Null: the gateway runs elsewhere. */
export async function withCpu<Result>(
  { target }: Pick<Bench, 'target'>,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly cpuUs: number | null }> {
  const { pid } = target
  if (pid === null) return { result: await work(), cpuUs: null }
  await settle(target)
  const before = cpuUsOfTree(pid)
  const result = await work()
  await settle(target)
  const cpuUs = [...cpuUsSince(pid, before).values()].reduce((sum, us) => sum + us, 0)
  return { result, cpuUs }
}

/** Waits until all requests so far have their rows; where that cannot be seen, for as long as it usually takes. The request for it goes to an upstream that the accounting does not count. */
async function settle(target: Target): Promise<void> {
  const { laboratory } = target
  if (laboratory === null) {
    await elapsed(SETTLEMENT_MS)
    return
  }
  const answer = await fetch(`${target.url}/v1/chat/completions`, {
    signal: AbortSignal.timeout(DEADLINE_MS),
    method: 'POST',
    headers: { 'content-type': 'application/json', ...keyHeaders(target.key) },
    body: bodyOf({
      protocol: 'chat',
      model: laboratory.translatedModel,
      stream: false,
      content: 'Say hello',
      maxTokens: 16,
    }),
  })
  await answer.arrayBuffer()
  await laboratory.settled(answer.headers.get('x-request-id') ?? '')
}

export function keyHeaders(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

/** A request for a plan, without its time. */
export function requestFor(
  target: Target,
  prompt: Prompt,
  more: { readonly key?: string; readonly tag?: string } = {},
): Omit<PlannedRequest, 'atMs'> {
  return {
    url: `${target.url}${pathOf(prompt)}`,
    headers: {
      ...keyHeaders(more.key ?? target.key),
      ...(prompt.protocol === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      ...(more.tag === undefined ? {} : { [`x-sluice-tag-${TAG}`]: more.tag }),
    },
    body: bodyOf(prompt),
  }
}

/** The reason why an answer is not a whole success; null: it is one. */
export function notServed({ status, errorCode, fault }: OpenAnswer): string | null {
  if (status === 0) return fault ?? 'no answer'
  if (status !== 200) return `status ${status}${errorCode === null ? '' : ` (${errorCode})`}`
  return fault
}

/** As `notServed`; a simulated answer must also have all of its events. */
export function servedWith(events: number, isSimulated: boolean): (answer: OpenAnswer) => string | null {
  return (answer) => {
    const problem = notServed(answer)
    if (problem !== null) return problem
    if (isSimulated && answer.events !== events) return `${answer.events} events of ${events}`
    return null
  }
}
