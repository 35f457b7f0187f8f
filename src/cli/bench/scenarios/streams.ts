import { loadOpen, requestFor, servedWith, withoutEvents } from '../measure.ts'
import { evenly } from '../open-loop.ts'
import type { PlannedRequest } from '../open-loop.ts'
import { countingPrompt, filler, steering } from '../prompts.ts'
import type { Prompt } from '../prompts.ts'
import type { Figure } from '../result.ts'
import type { Bench, Need, Outcome, Scenario } from '../scenario.ts'

const PROMPT_BYTES = 450
const PROMPT_TOKENS = 150
/** Time of the simulator to the first event. */
const TTFT_MS = 20
/** Events without text before the first one with text, of a simulator that speaks the protocol. */
const EVENTS_BEFORE_TEXT = { chat: 1, messages: 3 } as const
const BYTES_PER_TOKEN = 4

export const STREAMED: Scenario = {
  name: 'streamed',
  title: 'Streamed',
  about: 'Streams that begin by the clock, whether or not earlier ones have ended. Every event is counted.',
  lacks: () => null,
  need: (bench) => needOf(bench, bench.doses.streamsPerSecond * bench.doses.seconds, PROMPT_TOKENS),
  run: (bench) => streams(bench, bench.target.model, 'chat', bench.doses.seconds),
}

export const TRANSLATED: Scenario = {
  name: 'translated',
  title: 'Translated',
  about:
    'Streams through a translation: in the laboratory chat requests to an upstream that speaks messages, elsewhere messages requests. Beside them, chat requests as they are.',
  lacks: () => null,
  need: (bench) => needOf(bench, bench.doses.streamsPerSecond * bench.doses.seconds, PROMPT_TOKENS),
  run: async (bench) => {
    const { target, doses } = bench
    const half = doses.seconds / 2
    const plain = await streams(bench, target.model, 'chat', half)
    const { laboratory } = target
    const translated =
      laboratory === null
        ? await streams(bench, target.model, 'messages', half)
        : await streams(bench, laboratory.translatedModel, 'chat', half)
    return {
      ...translated,
      requests: translated.requests + plain.requests,
      failures: translated.failures + plain.failures,
      problems: [...translated.problems, ...plain.problems],
      events: (translated.events ?? 0) + (plain.events ?? 0),
      figures: [
        ...translated.figures,
        ...figure('first event p50, as they are', plain.first?.p50, 'ms'),
        ...figure('first event p99, as they are', plain.first?.p99, 'ms'),
        ...ratio('CPU of an event, against as they are', translated.cpu?.perEventUs, plain.cpu?.perEventUs),
      ],
    }
  },
}

export const LARGE: Scenario = {
  name: 'large',
  title: 'Large bodies',
  about: 'Requests with long prompts, sent by the clock.',
  lacks: () => null,
  need: ({ doses: { largeBytes, largePerSecond, seconds, tokens } }) => {
    const requests = Math.max(1, Math.round(largePerSecond * seconds))
    return {
      requests,
      promptTokens: Math.ceil((requests * largeBytes) / BYTES_PER_TOKEN),
      completionTokens: requests * tokens * 3,
    }
  },
  run: async (bench) => {
    const { doses, target } = bench
    const ask = target.isSimulated ? steering({ tokens: doses.tokens }) : countingPrompt(doses.tokens)
    const request = requestFor(target, {
      protocol: 'chat',
      model: target.model,
      stream: false,
      content: `${filler(doses.largeBytes)}\n\n${ask}`,
      maxTokens: doses.tokens * 3,
    })
    const plan = evenly(doses.largePerSecond, doses.seconds).map((atMs) => ({ ...request, atMs }))
    const load = await loadOpen(bench, plan, servedWith(1, target.isSimulated))
    return {
      ...withoutEvents(load),
      figures: [...load.figures, { label: 'body', value: doses.largeBytes / 1_048_576, unit: 'MiB' }],
    }
  },
}

export const KEYS: Scenario = {
  name: 'keys',
  title: 'Many keys',
  about: 'Buffered requests, each with the next of many entry keys.',
  lacks: ({ keys }) => (keys.length > 1 ? null : 'there is one key: name a file with more, one a line, by --keys-file'),
  need: (bench) => needOf(bench, bench.doses.perSecond * bench.doses.seconds, PROMPT_TOKENS),
  run: async (bench) => {
    const { target, doses } = bench
    const prompt = promptOf(bench, target.model, 'chat', false)
    const requests = target.keys.map((key) => requestFor(target, prompt, { key }))
    const plan = evenly(doses.perSecond, doses.seconds).flatMap((atMs, index) => {
      const request = requests[index % requests.length]
      return request === undefined ? [] : [{ ...request, atMs }]
    })
    const load = await loadOpen(bench, plan, servedWith(1, target.isSimulated))
    return {
      ...withoutEvents(load),
      figures: [...load.figures, { label: 'keys', value: target.keys.length, unit: '' }],
    }
  },
}

function needOf({ doses }: Pick<Bench, 'doses'>, count: number, promptTokens: number): Need {
  const requests = Math.ceil(count) + 1
  return { requests, promptTokens: requests * promptTokens, completionTokens: requests * doses.tokens * 3 }
}

function promptOf({ target, doses }: Bench, model: string, protocol: Prompt['protocol'], stream: boolean): Prompt {
  const pace = stream ? { ttftMs: TTFT_MS, eventsPerSecond: doses.eventsPerSecond } : {}
  const content = target.isSimulated
    ? `${filler(PROMPT_BYTES)}${steering({ tokens: doses.tokens, ...pace })}`
    : countingPrompt(doses.tokens)
  return { protocol, model, stream, content, maxTokens: doses.tokens * 3 }
}

async function streams(bench: Bench, model: string, protocol: Prompt['protocol'], seconds: number): Promise<Outcome> {
  const { target, doses } = bench
  const request = requestFor(target, promptOf(bench, model, protocol, true))
  const everyMs = 1000 / doses.eventsPerSecond
  const upstream = model === target.laboratory?.translatedModel ? 'messages' : 'chat'
  const pace = { firstMs: TTFT_MS + EVENTS_BEFORE_TEXT[upstream] * everyMs, everyMs }
  const plan: PlannedRequest[] = evenly(doses.streamsPerSecond, seconds).map((atMs) => ({
    ...request,
    atMs,
    // Only the laboratory's simulator surely keeps this pace.
    ...(target.kind === 'laboratory' ? { pace } : {}),
  }))
  return loadOpen(bench, plan, servedWith(doses.tokens, target.isSimulated))
}

function figure(label: string, value: number | undefined, unit: Figure['unit']): Figure[] {
  return value === undefined ? [] : [{ label, value, unit }]
}

function ratio(label: string, value: number | null | undefined, base: number | null | undefined): Figure[] {
  return typeof value === 'number' && typeof base === 'number' && base > 0
    ? [{ label, value: value / base, unit: '×' }]
    : []
}
