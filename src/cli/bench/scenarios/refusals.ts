import { generateApiKey } from '../../../shared/core/api-key.ts'
import { keyHeaders, loadOpen, requestFor, withoutEvents } from '../measure.ts'
import { evenly } from '../open-loop.ts'
import type { PlannedRequest } from '../open-loop.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'
import type { Target } from '../target.ts'

/** A gateway refuses addresses that send too many wrong keys: elsewhere than in the laboratory there are at most so many. */
const MAX_WRONG_KEYS = 20
const DEADLINE_MS = 60_000
/** Within the minute in which the limited key may not send again. */
const MAX_SECONDS = 45
/** No provider gets these requests. */
const NO_MODEL = 'sluice-bench-no-such-model'

type Kind = readonly [name: string, status: number, request: Omit<PlannedRequest, 'atMs'>]

export const REFUSALS: Scenario = {
  name: 'refusals',
  title: 'Refusals',
  about:
    'Requests that the gateway must refuse by itself: wrong keys, unknown models, bodies that are no JSON, a limit that is reached.',
  lacks: () => null,
  need: () => ({ requests: 0, promptTokens: 0, completionTokens: 0 }),
  run,
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses } = bench
  const kinds = kindsFor(target)
  await fillLimit(target)
  const times = evenly(doses.refusalsPerSecond, Math.min(MAX_SECONDS, doses.seconds / 2))
  const chosen = times.map((_, index) => {
    const kind = kinds[index % kinds.length] as Kind
    const isSpent = target.laboratory === null && kind[1] === 401 && index >= MAX_WRONG_KEYS * kinds.length
    return isSpent ? (kinds[1] as Kind) : kind
  })
  const plan = times.map((atMs, index) => ({ ...(chosen[index] as Kind)[2], atMs }))
  const load = await loadOpen(bench, plan, ({ index, status, errorCode, fault }) => {
    const [name, expected] = chosen[index] as Kind
    if (status === 0) return `${name}: ${fault ?? 'no answer'}`
    if (status !== expected) return `${name}: status ${status} instead of ${expected}`
    return errorCode === null ? `${name}: the answer has no error code` : null
  })
  return { ...withoutEvents(load), figures: [...load.figures, { label: 'kinds', value: kinds.length, unit: '' }] }
}

function kindsFor(target: Target): Kind[] {
  const prompt = { protocol: 'chat', model: target.model, stream: false, content: 'Say hello', maxTokens: 16 } as const
  const right = requestFor(target, prompt)
  const kinds: Kind[] = [
    ['wrong key', 401, { ...right, headers: keyHeaders(generateApiKey()) }],
    ['unknown model', 404, requestFor(target, { ...prompt, model: NO_MODEL })],
    ['no JSON', 400, { ...right, body: `${right.body.slice(0, -1)},` }],
  ]
  const { laboratory } = target
  if (laboratory !== null)
    kinds.push(['limit reached', 429, requestFor(target, prompt, { key: laboratory.limitedKey })])
  return kinds
}

/** Uses the one request a minute that the limited key has. */
async function fillLimit(target: Target): Promise<void> {
  const { laboratory } = target
  if (laboratory === null) return
  const prompt = { protocol: 'chat', model: target.model, stream: false, content: 'Say hello', maxTokens: 16 } as const
  const { url, headers, body } = requestFor(target, prompt, { key: laboratory.limitedKey })
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  await answer.arrayBuffer()
}
