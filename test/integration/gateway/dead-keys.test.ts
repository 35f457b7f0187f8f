import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chat, expectChatError, messages } from '../../support/ai-calls.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import type { Scene } from '../../support/scripted-server.ts'

const LIVE = 'upstream-credential-live'
const DEAD = 'upstream-credential-dead'

const GEMINI_DEAD = {
  error: {
    code: 400,
    message: 'API key not valid. Please pass a valid API key.',
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  },
}
const NO_CREDIT = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' },
}
const WHOLE = {
  'openai-chat': { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] },
  'anthropic-messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }] },
}
const POOLS = [
  ['gemini', GEMINI_DEAD],
  ['anthropic-messages', NO_CREDIT],
  ['openai-chat', { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***yz.' }],
] as const

/** The dead key's refusal, or an answer. */
function byKey(dialect: keyof typeof WHOLE, refusal: object): Scene {
  return (response, request) => {
    const isDead = JSON.stringify(request.headers).includes(DEAD)
    return json(isDead ? 400 : 200, isDead ? refusal : WHOLE[dialect])(response, request)
  }
}

const hosts = new Map<string, ScriptedServer>()
let unknowing: ScriptedServer
let gateway: TestGateway

beforeAll(async () => {
  for (const [dialect] of POOLS) hosts.set(dialect, await ScriptedServer.start())
  unknowing = await ScriptedServer.start()
  unknowing.script(json(404, { error: { code: 'model_not_found', message: 'The model `gpt-4x` does not exist' } }))
  gateway = await startGateway({
    upstreams: [
      ...POOLS.map(([dialect]) => ({
        id: dialect,
        dialect,
        baseUrl: hosts.get(dialect)?.url ?? '',
        models: [`${dialect}-pool`],
        keys: [{ credential: DEAD }, { credential: LIVE }],
      })),
      { id: 'patterns', dialect: 'openai-chat', baseUrl: `${unknowing.url}/v1`, models: ['gpt-*'] },
    ],
  })
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([unknowing, ...hosts.values()].map((host) => host.close()))
})

describe.each(POOLS)('a pool of %s with one dead key', (dialect, refusal) => {
  it('serves every request of a rush, and asks the dead key no more after it', async () => {
    const host = hosts.get(dialect)
    host?.script(byKey(dialect, refusal))
    const ask = dialect === 'anthropic-messages' ? messages : chat
    const askedDead = (): number =>
      host?.received.filter(({ headers }) => JSON.stringify(headers).includes(DEAD)).length ?? 0
    // Those that are under way together may meet it together.
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(gateway, { model: `${dialect}-pool` })))
    const together = askedDead()
    for (let i = 0; i < 16; i++) answers.push(await ask(gateway, { model: `${dialect}-pool` }))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(together).toBeGreaterThan(0)
    expect(askedDead()).toBe(together)
  })
})

it('answers 404 for a misspelt model under a pattern, which no client repeats', async () => {
  const answer = await chat(gateway, { model: 'gpt-4x' })
  expectChatError(answer, {
    status: 404,
    type: 'invalid_request',
    code: 'MODEL_NOT_FOUND',
    param: '/model',
    message: /"gpt-4x" does not exist/,
  })
  expect(answer.headers.get('retry-after')).toBeNull()
})
