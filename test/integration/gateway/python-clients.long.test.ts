import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { cannotRunClients, installFromPypi, runClient } from '../../support/installed-client.ts'
import type { ClientRun } from '../../support/installed-client.ts'
import { ScriptedServer, json } from '../../support/scripted-server.ts'
import { SIGNED_SCENES, SIGNED_TURNS, assistantTurns } from '../../support/signed-turns.ts'

// What official libraries for Python make of answers through the gateway, as PyPI has them.

const PACKAGES = ['openai==3.57.0', 'langchain-openai==1.7.4', 'langchain-anthropic==1.7.10']
const SCRIPTS = fileURLToPath(new URL('../../support/python', import.meta.url))
const PATIENCE = { timeout: 600_000 }

/** The two ways in which OpenAI says that a prompt is too long: LangChain knows the second by its words alone. */
const OPENAI_OVERFLOWS = [
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.",
  'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300010 tokens.',
] as const

/** How services say that a prompt is too long. */
const OVERFLOWS = {
  openai: {
    dialect: 'openai-chat',
    status: 400,
    body: {
      error: {
        message:
          "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
  },
  anthropic: {
    dialect: 'anthropic-messages',
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 201000 tokens > 200000 maximum' },
    },
  },
  gemini: {
    dialect: 'gemini',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
  },
  bedrock: {
    dialect: 'bedrock-converse',
    status: 400,
    body: { message: 'Input is too long for requested model.' },
  },
} as const

let upstream: ScriptedServer
let gateway: TestGateway

beforeAll(async () => {
  upstream = await ScriptedServer.start()
  const overflowing = Object.entries(OVERFLOWS).map(([id, { dialect }]) => ({
    id,
    dialect,
    baseUrl: upstream.url,
    models: [id],
  }))
  const thinker = { dialect: 'anthropic-messages', baseUrl: upstream.url, models: ['thinker'] } as const
  gateway = await startGateway({ upstreams: [thinker, ...overflowing] })
})

afterAll(async () => {
  await gateway.stop()
  await upstream.close()
})

async function python(
  skip: (note: string) => never,
  script: string,
  args: readonly string[],
  port = Number(new URL(gateway.url).port),
): Promise<ClientRun> {
  const missing = await cannotRunClients()
  if (missing !== null) return skip(missing)
  const installed = await installFromPypi(PACKAGES)
  if ('missing' in installed) return skip(`cannot be installed here: ${installed.missing}`)
  const command = [join(installed.directory, 'bin', 'python'), join(SCRIPTS, script), ...args] as const
  return runClient(command, {
    cwd: tmpdir(),
    home: tmpdir(),
    env: { LANGSMITH_TRACING: 'false' },
    port,
  })
}

it.for(['stream', 'whole'])(
  'signed thinking comes back to the upstream as it was, also interleaved and redacted (%s, SDK for Python)',
  PATIENCE,
  async (form, { skip }) => {
    upstream.script(...SIGNED_SCENES)
    const { code, output } = await python(skip, 'signed_thinking.py', [`${gateway.url}/v1`, gateway.apiKey, form])
    expect([code, output.trim()]).toEqual([0, 'Both are sunny.'])
    expect(upstream.received).toHaveLength(3)
    expect(assistantTurns(upstream.received[1]?.body ?? '')).toEqual(SIGNED_TURNS.slice(0, 1))
    expect(assistantTurns(upstream.received[2]?.body ?? '')).toEqual(SIGNED_TURNS)
  },
)

describe.each(Object.keys(OVERFLOWS) as ReadonlyArray<keyof typeof OVERFLOWS>)('a context overflow of %s', (model) => {
  it.for(['messages'])('is that of LangChain for a client of %s', PATIENCE, async (protocol, { skip }) => {
    const { status, body } = OVERFLOWS[model]
    const base = protocol === 'messages' ? gateway.url : `${gateway.url}/v1`
    for (const form of ['whole', 'stream']) {
      upstream.script(json(status, body))
      const { output } = await python(skip, 'overflow.py', [protocol, base, gateway.apiKey, model, form])
      expect([form, output.trim()]).toEqual([form, 'overflow'])
    }
  })
})

describe.each(OPENAI_OVERFLOWS)('an overflow of OpenAI: %s', (message) => {
  it.for(['chat', 'responses'])(
    'is the same to LangChain through the gateway as without it, for a client of %s',
    PATIENCE,
    async (protocol, { skip }) => {
      const body = {
        error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
      }
      for (const form of ['whole', 'stream']) {
        const classes: string[] = []
        for (const base of [upstream.url, `${gateway.url}/v1`]) {
          upstream.script(json(400, body))
          const port = Number(new URL(base).port)
          const { output } = await python(skip, 'overflow.py', [protocol, base, gateway.apiKey, 'openai', form], port)
          classes.push(output.trim().split(' ')[0] ?? '')
        }
        const [direct, through] = classes
        expect([form, through]).toEqual([form, direct])
        if (message.startsWith('Input')) expect(through).toBe('overflow')
      }
    },
  )
})
