import { describe, expect, it } from 'vitest'
import type { DraftUpstream } from '../../../src/cli/import/draft.ts'
import { Remarks } from '../../../src/cli/import/draft.ts'
import { fromLiteLlm } from '../../../src/cli/import/litellm/litellm.ts'

type Params = Readonly<Record<string, unknown>>

interface Imported {
  readonly upstreams: readonly DraftUpstream[]
  readonly remarks: Remarks
}

/** Imports deployments with these `litellm_params`; each has the name of its model. */
function imported(deployments: readonly Params[], variables: Params = {}): Imported {
  const remarks = new Remarks()
  const list = deployments.map((params) => ({ model_name: String(params['model']).split('/').at(-1), ...at(params) }))
  const { upstreams } = fromLiteLlm({ model_list: list, environment_variables: variables }, remarks)
  return { upstreams, remarks }
}

const at = (params: Params): Params => ({ litellm_params: params })

describe('an address in a variable', () => {
  const CORPORATE = { OPENAI_API_BASE: 'https://llm.corp/v1' }

  it('is the host of deployments that give none, with the key that belongs to it', () => {
    const { upstreams } = imported([{ model: 'openai/gpt-4o' }], CORPORATE)
    expect(upstreams).toEqual([
      {
        id: 'llm.corp',
        dialect: 'openai-chat',
        base_url: 'https://llm.corp/v1',
        keys: [{ credential: '${OPENAI_API_KEY}' }],
        models: [{ id: 'gpt-4o' }],
      },
    ])
    expect(imported([{ model: 'openai/gpt-4o', api_key: 'sk-a' }], CORPORATE).upstreams).toMatchObject([
      { base_url: 'https://llm.corp/v1', keys: [{ credential: 'sk-a' }] },
    ])
  })

  it('gives way to that of the deployment', () => {
    const { upstreams } = imported([{ model: 'openai/gpt-4o', api_base: 'https://other.corp/v1' }], CORPORATE)
    expect(upstreams).toMatchObject([{ base_url: 'https://other.corp/v1', auth: 'none', keys: [] }])
  })

  it('leaves OpenAI the provider when it is that of OpenAI, and without one', () => {
    const own = { OPENAI_API_BASE: 'https://api.openai.com/v1' }
    expect(imported([{ model: 'openai/gpt-4o' }], own).upstreams).toMatchObject([{ provider: 'openai' }])
    expect(imported([{ model: 'groq/llama' }]).upstreams).toEqual([
      { id: 'groq', provider: 'groq', keys: [{ credential: '${GROQ_API_KEY}' }], models: [{ id: 'llama' }] },
    ])
  })

  it('is taken for other providers and servers too', () => {
    const { upstreams } = imported(
      [{ model: 'ollama_chat/llama3.1' }, { model: 'groq/llama' }, { model: 'anthropic/claude-sonnet-4-5' }],
      {
        OLLAMA_API_BASE: 'http://10.0.0.7:11434',
        GROQ_API_BASE: 'https://groq.corp/v1',
        ANTHROPIC_API_BASE: 'os.environ/CLAUDE_HOST',
      },
    )
    expect(upstreams).toMatchObject([
      { provider: 'ollama', base_url: 'http://10.0.0.7:11434/v1', keys: [] },
      { provider: 'groq', base_url: 'https://groq.corp/v1' },
      { provider: 'anthropic', base_url: '${CLAUDE_HOST}/v1' },
    ])
  })
})

describe('max_parallel_requests of deployments with one host and credential', () => {
  const PLACES = [0, 1].map((index) => `model_list[${index}].litellm_params.max_parallel_requests`)
  const limited = (model: string, limit?: unknown): Params => ({
    model: `openai/${model}`,
    api_key: 'sk-a',
    ...(limit === undefined ? {} : { max_parallel_requests: limit }),
  })
  const keysOf = ({ upstreams }: Imported): unknown => upstreams.map(({ keys }) => keys)

  it('is the limit of the key, without a remark, for one alone', () => {
    const one = imported([limited('gpt-4o', 5)])
    expect(keysOf(one)).toEqual([[{ credential: 'sk-a', max_concurrency: 5 }]])
    expect(one.remarks).toMatchObject({ lost: [], changed: [] })
  })

  it('adds up', () => {
    const both = imported([limited('gpt-4o', 5), limited('gpt-4o-mini', 7)])
    expect(keysOf(both)).toEqual([[{ credential: 'sk-a', max_concurrency: 12 }]])
    expect(both.remarks.changed.map(({ path }) => path)).toEqual(PLACES)
    expect(both.remarks.changed[0]?.reason).toContain('12')
  })

  it('does not hold for one that has none', () => {
    const both = imported([limited('gpt-4o'), limited('gpt-4o-mini', 5)])
    expect(keysOf(both)).toEqual([[{ credential: 'sk-a' }]])
    expect(both.remarks.lost.map(({ path }) => path)).toEqual([PLACES[1]])
  })

  it('is not lost in silence by a host that takes no key', () => {
    const { upstreams, remarks } = imported([{ model: 'ollama_chat/llama3.1', max_parallel_requests: 2 }])
    expect(upstreams).toMatchObject([{ keys: [] }])
    expect(remarks.lost.map(({ path }) => path)).toEqual([PLACES[0]])
  })
})

it('tells of numbers that are none, and of no others', () => {
  const { remarks } = imported([
    { model: 'openai/a', weight: 'os.environ/WEIGHT', order: 'first', max_parallel_requests: 'os.environ/LIMIT' },
    { model: 'openai/b', weight: 2, order: null, max_parallel_requests: '3' },
  ])
  expect(remarks.lost.map(({ path }) => path)).toEqual(
    ['weight', 'order', 'max_parallel_requests']
      .map((name) => `model_list[0].litellm_params.${name}`)
      .concat('model_list[1].litellm_params.max_parallel_requests'),
  )
})
