import { expect, it } from 'vitest'
import { toSnapshotParts } from '../../../src/shared/config/snapshot-parts.ts'
import type { UpstreamConfig } from '../../../src/shared/config/shape.ts'
import { read, readError } from './load.ts'

const upstream = (members: string): UpstreamConfig | undefined =>
  read({ yaml: `upstreams: [{id: a, keys: [{credential: c}], models: [m], ${members}}]` }).upstreams[0]

const protocols = (members: string): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(upstream(members)?.services ?? {}).map(([name, list]) => [
      name,
      list.map(({ protocol }) => protocol),
    ]),
  )

it('takes hosts of a dialect to serve what its own service does', () => {
  expect(protocols('dialect: openai-chat, base_url: "http://a/v1"')).toEqual({
    embeddings: ['openai-embeddings'],
    rerank: ['rerank'],
    images: ['openai-images'],
    videos: ['openai-videos'],
  })
  expect(protocols('dialect: gemini, base_url: "https://a"')).toEqual({
    embeddings: ['gemini-embeddings'],
    images: ['imagen', 'gemini-images'],
    videos: ['veo'],
  })
  expect(protocols('dialect: gemini, base_url: "https://a/v1/projects/p/locations/l"')).toEqual({
    embeddings: ['vertex-embeddings'],
    images: ['imagen', 'gemini-images'],
  })
  expect(protocols('dialect: cohere-chat, base_url: "https://a"')).toEqual({
    embeddings: ['cohere-embeddings'],
    rerank: ['cohere-rerank'],
  })
  expect(protocols('dialect: anthropic-messages, base_url: "https://a"')).toEqual({})
})

it('takes what a known provider serves, and what the file says before it', () => {
  expect(protocols('provider: voyage')).toEqual({ embeddings: ['voyage-embeddings'], rerank: ['voyage-rerank'] })
  expect(upstream('provider: voyage')?.converses).toBe(false)
  expect(protocols('provider: groq')).toEqual({})
  expect(protocols('provider: groq, services: {images: [{protocol: openai-images}]}')).toEqual({
    images: ['openai-images'],
  })
  expect(protocols('provider: voyage, services: {rerank: []}')).toEqual({
    embeddings: ['voyage-embeddings'],
    rerank: [],
  })
  expect(
    upstream(
      'provider: qwen, services: {embeddings: [{protocol: openai-embeddings, models: ["a*"], base: /x, auth: api-key, max_per_call: 3, field_names: {a: b}, refused_fields: [c]}]}',
    )?.services?.embeddings,
  ).toEqual([
    {
      protocol: 'openai-embeddings',
      models: ['a*'],
      base: '/x',
      auth: 'api-key',
      maxPerCall: 3,
      fieldNames: { a: 'b' },
      refusedFields: ['c'],
    },
  ])
})

it('lets services in as the upstream is told to', () => {
  const authOf = (members: string): unknown => upstream(members)?.services?.embeddings?.[0]?.auth
  expect(authOf('provider: gemini')).toBe('x-goog-api-key')
  expect(authOf('provider: gemini, auth: bearer')).toBeUndefined()
})

it('knows the services of providers in the environment at the addresses they have there', () => {
  const env = {
    VERTEX_API_KEY: 'k',
    VERTEX_BASE_URL: 'https://a.test/v1/projects/p/locations/l',
    COHERE_API_KEY: 'k2',
    JINA_API_KEY: 'k3',
  }
  const { providers } = toSnapshotParts(read({ env }))
  const served = providers.map(({ id, services, converses }) => [id, services?.embeddings?.[0]?.protocol, converses])
  expect(served.sort()).toEqual([
    ['cohere', 'cohere-embeddings', undefined],
    ['jina', 'jina-embeddings', false],
    ['vertex', 'vertex-embeddings', undefined],
  ])
})

it.each([
  ['{embeddings: [{protocol: imagen}]}', 'services.embeddings[0].protocol'],
  ['{rerank: [{protocol: rerank, base: x}]}', 'services.rerank[0].base'],
  ['{images: [{protocol: imagen, max_per_call: 0}]}', 'services.images[0].max_per_call'],
  ['{speech: []}', 'services'],
])('refuses %s', (services, place) => {
  const yaml = `upstreams: [{id: a, provider: openai, keys: [{credential: c}], services: ${services}}]`
  expect(readError({ yaml }).message).toContain(place)
})
