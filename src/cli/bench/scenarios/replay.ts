import { loadOpen, notServed, requestFor, servedWith } from '../measure.ts'
import type { OpenAnswer } from '../open-loop.ts'
import { countingPrompt, filler, steering } from '../prompts.ts'
import type { Bench, Need, Outcome, Scenario } from '../scenario.ts'
import { excerpt } from '../traces.ts'
import type { TraceRequest } from '../traces.ts'

const BYTES_PER_TOKEN = 4
const TTFT_MS = 20
const EVENTS_PER_SECOND = 200

export const REPLAY: Scenario = {
  name: 'replay',
  title: 'Replay of a trace',
  about: 'Streams with the arrivals and the lengths of a recorded trace.',
  lacks: () => null,
  need,
  run,
}

function need({ doses, trace }: Pick<Bench, 'doses' | 'trace'>): Need {
  const requests = excerpt(trace, doses.seconds, doses.speed)
  return {
    requests: requests.length,
    promptTokens: requests.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    completionTokens: requests.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  }
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses, trace } = bench
  const requests = excerpt(trace, doses.seconds, doses.speed)
  const everyMs = 1000 / EVENTS_PER_SECOND
  const plan = requests.map((one) => ({
    ...requestFor(target, {
      protocol: 'chat',
      model: target.model,
      stream: true,
      content: contentOf(one, target.isSimulated),
      maxTokens: Math.max(1, one.completionTokens),
    }),
    atMs: one.atMs,
    ...(target.kind === 'laboratory' ? { pace: { firstMs: TTFT_MS + everyMs, everyMs } } : {}),
  }))
  const load = await loadOpen(bench, plan, (answer: OpenAnswer) => {
    if (!target.isSimulated) return notServed(answer)
    return servedWith(Math.max(1, requests[answer.index]?.completionTokens ?? 0), true)(answer)
  })
  return {
    ...load,
    figures: [
      ...load.figures,
      { label: 'speed', value: doses.speed, unit: '×' },
      { label: 'tokens of a prompt, mean', value: mean(requests, ({ promptTokens }) => promptTokens), unit: '' },
      {
        label: 'tokens of an answer, mean',
        value: mean(requests, ({ completionTokens }) => completionTokens),
        unit: '',
      },
    ],
  }
}

function contentOf({ promptTokens, completionTokens }: TraceRequest, isSimulated: boolean): string {
  const text = filler(promptTokens * BYTES_PER_TOKEN)
  if (!isSimulated) return `${text}\n\n${countingPrompt(Math.max(1, Math.round(completionTokens / 2)))}`
  const tokens = Math.max(1, completionTokens)
  return `${text}${steering({ tokens, ttftMs: TTFT_MS, eventsPerSecond: EVENTS_PER_SECOND })}`
}

function mean(requests: readonly TraceRequest[], of: (request: TraceRequest) => number): number {
  return Math.round(requests.reduce((sum, request) => sum + of(request), 0) / Math.max(1, requests.length))
}
