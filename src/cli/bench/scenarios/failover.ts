import { loadOpen, requestFor, servedWith, withoutEvents } from '../measure.ts'
import { evenly } from '../open-loop.ts'
import { filler, steering } from '../prompts.ts'
import type { Bench, Outcome, Scenario } from '../scenario.ts'
import { behave, totalsOf } from '../simulator-control.ts'

const PROMPT_BYTES = 450
/** The first key serves five requests, then fails one. */
const FLAP = [5, 1]

export const FAILOVER: Scenario = {
  name: 'failover',
  title: 'Failover',
  about:
    'One of two upstream keys answers each sixth request with 503. Every client must get its answer from the other one.',
  lacks: ({ laboratory }) =>
    laboratory === null ? 'only the laboratory (without --url) has an upstream that may fail' : null,
  need: () => ({ requests: 0, promptTokens: 0, completionTokens: 0 }),
  run,
}

async function run(bench: Bench): Promise<Outcome> {
  const { target, doses } = bench
  const { laboratory } = target
  if (laboratory === null) throw new Error('failover runs in the laboratory only')
  const [flaky] = laboratory.failoverCredentials
  const { simulatorUrl, failoverModel: model } = laboratory
  const content = `${filler(PROMPT_BYTES)}${steering({ tokens: doses.tokens })}`
  const request = requestFor(target, { protocol: 'chat', model, stream: false, content, maxTokens: doses.tokens * 3 })
  const plan = evenly(doses.perSecond, doses.seconds).map((atMs) => ({ ...request, atMs }))
  const before = await totalsOf(simulatorUrl, flaky)
  await behave(simulatorUrl, flaky, { status: 503, flap: FLAP })
  try {
    const load = await loadOpen(bench, plan, servedWith(1, true))
    const after = await totalsOf(simulatorUrl, flaky)
    const failed = after.started - after.ok - (before.started - before.ok)
    return { ...withoutEvents(load), figures: [...load.figures, { label: 'failed attempts', value: failed, unit: '' }] }
  } finally {
    await behave(simulatorUrl, flaky, {})
  }
}
