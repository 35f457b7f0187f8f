import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { credentialsWithoutAddress } from '../../../src/shared/config/environment-upstreams.ts'
import { KNOWN_PROVIDERS } from '../../../src/shared/config/providers/known.ts'
import { toSnapshotParts } from '../../../src/shared/config/snapshot-parts.ts'
import { simulatorUpstreams } from '../../../src/shared/config/upstreams.ts'
import { read } from './load.ts'

it('fills in what an upstream leaves out: auth by dialect, ids of keys, timeouts in part', () => {
  const config = read({
    yaml: `
upstream: {timeouts: {idle_ms: 7}}
upstreams:
  - {id: a, dialect: openai-chat, base_url: "http://a/v1//", models: [m], keys: [{credential: c}, {id: z, credential: d}]}
  - {id: b, dialect: anthropic-messages, base_url: "http://b", models: [m], keys: [{credential: e}], timeouts: {total_ms: 9}}
  - {id: c, dialect: openai-chat, base_url: "http://c", models: [m], auth: none}`,
  })

  expect(config.upstreams).toMatchObject([
    { id: 'a', name: 'a', auth: 'bearer', baseUrl: 'http://a/v1', keys: [{ id: 'a-1', name: 'a-1' }, { id: 'z' }] },
    { id: 'b', auth: 'x-api-key', timeouts: { connectMs: 5000, idleMs: 7, totalMs: 9 } },
    { id: 'c', auth: 'none', keys: [{ id: 'c-1', credential: '', weight: 1, maxConcurrency: 1000, enabled: true }] },
  ])
  expect(config.simulator.enabled).toBe(false)
})

it('merges the targets of a model that several upstreams serve', () => {
  const config = read({
    yaml: `
upstreams:
  - {id: a, dialect: openai-chat, base_url: "http://a", auth: none, models: [m, {id: fast, upstream_model: m, weight: 3}]}
  - {id: b, dialect: openai-chat, base_url: "http://b", auth: none, models: [{id: m, upstream_model: n, owned_by: o}, "x-*"]}`,
  })

  expect(toSnapshotParts(config).models).toEqual([
    {
      id: 'm',
      created: 0,
      ownedBy: 'a',
      targets: [
        { providerId: 'a', upstreamModel: 'm', weight: 1, priority: 0 },
        { providerId: 'b', upstreamModel: 'n', weight: 1, priority: 0 },
      ],
    },
    {
      id: 'fast',
      created: 0,
      ownedBy: 'a',
      targets: [{ providerId: 'a', upstreamModel: 'm', weight: 3, priority: 0 }],
    },
    {
      id: 'x-*',
      created: 0,
      ownedBy: 'b',
      targets: [{ providerId: 'b', upstreamModel: 'x-*', weight: 1, priority: 0 }],
    },
  ])
})

it('makes snapshot parts that serialise whole, credentials and headers included', () => {
  const yaml = `
upstreams: [{id: a, dialect: openai-chat, base_url: "http://a", headers: {X-A: b}, models: [m], keys: [{credential: c}]}]`
  const { providers } = toSnapshotParts(read({ yaml }))

  expect(JSON.parse(JSON.stringify(providers))).toMatchObject([
    { headers: { 'x-a': 'b' }, keys: [{ credential: 'c' }] },
  ])
  expect(providers[0]).not.toHaveProperty('models')
  expect(structuredClone(providers)).toEqual(providers)
})

it.each(KNOWN_PROVIDERS)('makes an upstream of $prefix_API_KEY', (provider) => {
  const address = provider.baseUrl ?? 'https://customer.test/v1/projects/p/locations/l'
  const env = { [`${provider.prefix}_API_KEY`]: 'one, two,,one' }
  const config = read({
    env: provider.baseUrl === null ? { ...env, [`${provider.prefix}_BASE_URL`]: address } : env,
  })

  expect(config.upstreams).toMatchObject([
    {
      id: provider.id,
      baseUrl: address,
      dialect: provider.dialect,
      auth: provider.auth,
      keys: [
        { id: `${provider.id}-1`, credential: 'one' },
        { id: `${provider.id}-2`, credential: 'two' },
      ],
    },
  ])
  expect(config.upstreams[0]?.target).toEqual(provider.quirks)
  expect(config.simulator.enabled).toBe(false)
})

it('leaves a provider alone whose customers have addresses of their own until it has one', () => {
  expect(read({ env: { AZURE_OPENAI_API_KEY: 'k' } }).upstreams).toEqual([])
})

it('makes an upstream of the address of a server of one’s own, without a credential', () => {
  const [upstream] = read({ env: { OLLAMA_BASE_URL: 'http://box:11434' } }).upstreams

  expect(upstream).toMatchObject({ id: 'ollama', baseUrl: 'http://box:11434/v1', auth: 'none' })
  expect(upstream?.keys).toMatchObject([{ id: 'ollama-1', credential: '' }])
  expect(upstream?.models).toMatchObject([{ id: 'ollama/*', upstreamModel: '*' }])
})

it('takes from a known provider what an upstream of the file leaves out', () => {
  const yaml = `
upstreams:
  - {id: a, provider: mistral, keys: [{credential: c}]}
  - {id: b, provider: mistral, base_url: "https://b.test", auth: none, models: [m], quirks: {takes_stream_options: true}}
  - {id: c, provider: vllm, models: [m], quirks: {field_names: {seed: s}}}`
  const [a, b, c] = read({ yaml }).upstreams
  const mistral = KNOWN_PROVIDERS.find(({ id }) => id === 'mistral')

  expect(a).toMatchObject({ dialect: 'openai-chat', baseUrl: 'https://api.mistral.ai/v1', auth: 'bearer', name: 'a' })
  expect(a?.target).toEqual(mistral?.quirks)
  expect(a?.models.map(({ id }) => id)).toEqual(mistral?.models)
  expect(b).toMatchObject({ baseUrl: 'https://b.test', auth: 'none', models: [{ id: 'm' }] })
  expect(b?.target).toEqual({ ...mistral?.quirks, takesStreamOptions: true })
  expect(c).toMatchObject({ baseUrl: 'http://127.0.0.1:8000/v1', auth: 'none', target: { fieldNames: { seed: 's' } } })
})

it('takes nothing of the protocol from a provider that is spoken to in another one', () => {
  const yaml = `
upstreams:
  - {id: a, provider: deepseek, dialect: anthropic-messages, base_url: "https://api.deepseek.com/anthropic/v1",
     keys: [{credential: c}]}`
  const [upstream] = read({ yaml }).upstreams

  expect(upstream).toMatchObject({ dialect: 'anthropic-messages', auth: 'x-api-key' })
  expect(upstream).not.toHaveProperty('target')
})

it('hands the quirks of an upstream on with the snapshot', () => {
  const yaml = 'upstreams: [{id: a, provider: groq, keys: [{credential: c}], models: [m]}]'
  const [provider] = toSnapshotParts(read({ yaml })).providers

  expect(provider?.target).toMatchObject({ maxTokensField: 'max_tokens', refusedFields: ['logit_bias'] })
  expect(structuredClone(provider)).toEqual(provider)
})

it('takes other addresses for providers, in the form their own libraries use', () => {
  const base = (env: Record<string, string>): string | undefined => read({ env }).upstreams[0]?.baseUrl

  expect(base({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://localhost:1/v1/' })).toBe('http://localhost:1/v1')
  expect(base({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://localhost:1' })).toBe('http://localhost:1/v1')
  expect(base({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://localhost:1/v1' })).toBe('http://localhost:1/v1')
})

it('leaves a provider of the environment alone when the file has its id or uses its credential', () => {
  const env = { OPENAI_API_KEY: 'k', GROQ_API_KEY: 'g' }
  const upstream = (id: string, credential: string): string =>
    `upstreams: [{id: ${id}, dialect: openai-chat, base_url: "http://a", models: [m], keys: [{credential: "${credential}"}]}]`
  const ids = (yaml: string): string[] => read({ yaml, env }).upstreams.map(({ id }) => id)

  expect(ids(upstream('mine', 'other'))).toEqual(['mine', 'openai', 'groq'])
  expect(ids(upstream('openai', 'other'))).toEqual(['openai', 'groq'])
  expect(ids(upstream('mine', '${OPENAI_API_KEY}'))).toEqual(['mine', 'groq'])
})

it('describes the simulator as one upstream for each dialect', () => {
  const { providers, models } = toSnapshotParts({ upstreams: simulatorUpstreams(4321), models: [] })

  expect(providers).toMatchObject([
    { id: 'simulator-chat', dialect: 'openai-chat', baseUrl: 'http://127.0.0.1:4321/v1', auth: 'bearer' },
    { id: 'simulator-messages', dialect: 'anthropic-messages', baseUrl: 'http://127.0.0.1:4321/v1', auth: 'x-api-key' },
  ])
  expect(models.map(({ id, targets }) => [id, targets[0]?.providerId])).toEqual([
    ['sim-gpt', 'simulator-chat'],
    ['sim-gpt-mini', 'simulator-chat'],
    ['sim-embed', 'simulator-chat'],
    ['sim-rerank', 'simulator-chat'],
    ['sim-image', 'simulator-chat'],
    ['sim-video', 'simulator-chat'],
    ['sim-claude', 'simulator-messages'],
  ])
})

it('reads declared keys with their limits and where they may be used', () => {
  const key = generateApiKey()
  const yaml = `
keys:
  - {name: n, key: ${key}, expires_at: "2030-01-31T00:00:00+01:00", rpm: 1, tpm: 2, max_concurrency: 3, models: [m],
     ip_allow: [10.0.0.0/8, "::1"], client_allow: [OpenAI/], enabled: false}
  - {name: o, key: ${generateApiKey()}}`

  const [first, second] = read({ yaml }).keys
  expect(first).toMatchObject({
    name: 'n',
    key,
    enabled: false,
    expiresAtMs: Date.UTC(2030, 0, 30, 23),
    limits: { requestsPerMinute: 1, tokensPerMinute: 2, concurrency: 3 },
    models: ['m'],
    addresses: ['10.0.0.0/8', '::1'],
    clients: ['OpenAI/'],
  })
  expect(second).toMatchObject({ enabled: true, expiresAtMs: null, models: null, addresses: null, clients: null })
  expect(second?.limits).toEqual({ requestsPerMinute: null, tokensPerMinute: null, concurrency: null })
  expect(inspect(first)).not.toContain(key)
})

const ACCOUNT = {
  type: 'service_account',
  project_id: 'p',
  private_key_id: 'key-1',
  private_key: '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n',
  client_email: 'sluice@p.iam.gserviceaccount.com',
  token_uri: 'https://oauth2.googleapis.com/token',
}
const VERTEX = 'https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5'

it('takes clouds by name: Azure with a version, Bedrock with a key pair, Vertex with the file of a service account', () => {
  const yaml = `
upstreams:
  - {id: a, provider: azure-openai, base_url: "https://a.openai.azure.com", api_version: 2024-10-21, keys: [{credential: k}]}
  - {id: b, provider: bedrock-anthropic, base_url: "https://bedrock-runtime.eu-west-1.amazonaws.com", keys: [{credential: "AKID:secret"}]}
  - {id: c, dialect: anthropic-vertex, base_url: "${VERTEX}", models: [m], keys: [{credential: "\${file:account.json}"}, {credential: ya29.token}]}`
  const { upstreams } = read({ yaml, files: { 'account.json': JSON.stringify(ACCOUNT, null, 2) } })

  expect(upstreams).toMatchObject([
    { dialect: 'openai-chat', auth: 'api-key', apiVersion: '2024-10-21' },
    { dialect: 'bedrock-invoke', auth: 'aws' },
    { dialect: 'anthropic-vertex', auth: 'google', baseUrl: VERTEX, keys: [{}, { credential: 'ya29.token' }] },
  ])
  const { client_email, private_key, private_key_id, token_uri } = ACCOUNT
  const credential: unknown = JSON.parse(upstreams[2]?.keys[0]?.credential ?? '')
  expect(credential).toEqual({ client_email, private_key, private_key_id, token_uri })
  expect(inspect(upstreams)).not.toContain('PRIVATE KEY')
})

it('takes clouds from the environment, with addresses of their own', () => {
  const env = {
    AZURE_OPENAI_API_KEY: 'k',
    AZURE_OPENAI_BASE_URL: 'https://a.openai.azure.com',
    AZURE_OPENAI_API_VERSION: '2024-10-21',
    VERTEX_ANTHROPIC_API_KEY: JSON.stringify(ACCOUNT),
    VERTEX_ANTHROPIC_BASE_URL: VERTEX,
    BEDROCK_API_KEY: 'AKID:secret',
  }
  expect(read({ env }).upstreams).toMatchObject([
    { id: 'azure-openai', apiVersion: '2024-10-21', auth: 'api-key' },
    { id: 'vertex-anthropic', auth: 'google', keys: [{ credential: expect.stringContaining(ACCOUNT.client_email) }] },
  ])
})

it.each([
  ['{', 'is not JSON'],
  [JSON.stringify({ ...ACCOUNT, type: 'authorized_user' }), 'must have the type "service_account"'],
  [JSON.stringify({ ...ACCOUNT, client_email: 7 }), 'has no client_email'],
  [JSON.stringify({ ...ACCOUNT, private_key: 'secret' }), 'has no private_key in PEM'],
  [JSON.stringify({ ...ACCOUNT, token_uri: 'ftp://x' }), 'has a token_uri that is no address'],
])('refuses a service account that is none, without showing it: %#', (json, reason) => {
  const yaml = `upstreams:\n  - {id: a, dialect: anthropic-vertex, base_url: "${VERTEX}", models: [m], keys: [{credential: "\${ACCOUNT}"}]}`
  expect(() => read({ yaml, env: { ACCOUNT: json } })).toThrow(`the JSON of a service account ${reason}`)
  expect(() => read({ env: { VERTEX_API_KEY: json, VERTEX_BASE_URL: VERTEX } })).toThrow(reason)
})

it('takes an account for what it is: by default where Gemini is on Vertex AI, and nowhere without auth: google', () => {
  const upstream = (members: string) =>
    `upstreams:\n  - {id: a, models: [m], keys: [{credential: "\${ACCOUNT}"}], ${members}}`
  const env = { ACCOUNT: JSON.stringify(ACCOUNT) }
  const [vertex] = read({ yaml: upstream(`dialect: gemini, base_url: "${VERTEX}"`), env }).upstreams
  expect(vertex).toMatchObject({ auth: 'google' })
  for (const members of [
    'dialect: gemini, base_url: "https://a"',
    `dialect: anthropic-vertex, base_url: "${VERTEX}", auth: bearer`,
  ]) {
    expect(() => read({ yaml: upstream(members), env })).toThrow('the JSON of a service account needs auth: google')
  }
})

it('names credentials of the environment that lack the address of their provider, and no others', () => {
  const given = {
    AZURE_OPENAI_API_KEY: 'azure',
    BEDROCK_API_KEY: 'bedrock',
    OPENAI_API_KEY: 'openai',
    VLLM_API_KEY: 'vllm',
  }
  const lacking = (env: Readonly<Record<string, string>>, yaml = ''): string[] =>
    credentialsWithoutAddress(env, read({ env, yaml }).upstreams).map(({ addressVariable }) => addressVariable)

  expect(lacking(given)).toEqual(['AZURE_OPENAI_BASE_URL', 'BEDROCK_BASE_URL'])
  expect(lacking({ ...given, AZURE_OPENAI_BASE_URL: 'https://mine.openai.azure.com/openai/v1' })).toEqual([
    'BEDROCK_BASE_URL',
  ])
  const file = `upstreams: [{id: mine, provider: bedrock, base_url: "https://bedrock-runtime.eu-central-1.amazonaws.com", models: [m], keys: [{credential: bedrock}]}]`
  expect(lacking(given, file)).toEqual(['AZURE_OPENAI_BASE_URL'])
})
