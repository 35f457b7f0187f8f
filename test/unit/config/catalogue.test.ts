import { expect, it } from 'vitest'
import { shippedCatalogue } from '../../../src/shared/config/catalogue.ts'
import { KNOWN_PROVIDERS } from '../../../src/shared/config/providers/known.ts'
import { toSnapshotParts } from '../../../src/shared/config/snapshot-parts.ts'
import { ModelCatalogue } from '../../../src/shared/core/model-facts.ts'
import type { ModelFacts } from '../../../src/shared/core/model-facts.ts'
import { read, readError } from './load.ts'

const shipped = shippedCatalogue()
const catalogue = new ModelCatalogue(shipped)

function pricesAt(yaml: string, model: string): ModelFacts['prices'] | undefined {
  return new ModelCatalogue(read({ yaml }).models).factsOf(model, null)?.prices
}

it('knows models of every large maker, each once', () => {
  const names = shipped.map(({ id, provider }) => `${provider ?? 'any'} ${id}`)

  expect(shipped.filter(({ id }) => !id.endsWith('*')).length).toBeGreaterThan(60)
  expect(new Set(names).size).toBe(names.length)
  for (const maker of [
    'gpt-',
    'claude-',
    'gemini-',
    'deepseek-',
    'mistral-',
    'grok-',
    'kimi-',
    'glm-',
    'qwen',
    'llama',
  ]) {
    expect(shipped.some(({ id, prices }) => id.startsWith(maker) && prices !== null)).toBe(true)
  }
})

it.each(shipped)('says nothing of $id that cannot be', (facts) => {
  const { provider, contextTokens, target, prices } = facts

  if (provider !== null) expect(KNOWN_PROVIDERS.map(({ id }) => id)).toContain(provider)
  expect(target.maxOutputTokens ?? 0).toBeLessThanOrEqual(contextTokens ?? Infinity)
  if (target.reasoning === 'effort') expect(target.efforts?.length).toBeGreaterThan(0)
  for (const { input, output, cachedInput, cacheWrite } of prices === null ? [] : [prices, ...prices.longPrompts]) {
    expect([input, output, cachedInput, cacheWrite].every(Number.isSafeInteger)).toBe(true)
    expect(cachedInput).toBeLessThanOrEqual(input)
    // A price of less than a cent or more than a thousand dollars is a slip of the unit.
    expect(input).toBeGreaterThanOrEqual(10_000)
    expect(Math.max(input, output)).toBeLessThan(1_000_000_000)
  }
  for (const long of prices?.longPrompts ?? []) expect(long.input).toBeGreaterThan(prices?.input ?? 0)
})

it.each([
  ['gpt-5.1', 'gpt-5.1'],
  ['gpt-5.1-2025-11-13', 'gpt-5.1'],
  ['openai/gpt-4o-2024-08-06', 'gpt-4o'],
  ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
  ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
  ['claude-opus-4-5@20251101', 'claude-opus-4-5'],
  ['claude-3-opus-20240229', 'claude-3*'],
  ['claude-next', 'claude-*'],
  ['gpt-5.9-nova', 'gpt-5*'],
  ['accounts/fireworks/models/deepseek-v4-pro', 'deepseek-v4-pro'],
  ['accounts/fireworks/models/gpt-oss-120b', 'gpt-oss-*'],
])('finds what it knows of %s under %s', (model, id) => {
  expect(catalogue.factsOf(model, null)?.id).toBe(id)
})

it('prefers what it knows of a model at its provider, and does not take that for another one', () => {
  expect(catalogue.factsOf('openai/gpt-oss-120b', 'groq')).toMatchObject({
    provider: 'groq',
    id: 'openai/gpt-oss-120b',
  })
  expect(catalogue.factsOf('openai/gpt-oss-120b', 'together')).toMatchObject({ id: 'gpt-oss-*', prices: null })
  expect(catalogue.factsOf('sim-gpt', 'groq')).toBeNull()
})

it('puts what the operator says before what it knows, and keeps what they leave out', () => {
  const yaml = `
models:
  - {id: gpt-5.1, prices: {input: 1000000, output: 2000000, cached_input: 3}}
  - {id: mine-*, context_tokens: 5, quirks: {takes_sampling: false}}
  - {id: claude-opus-5-5, max_output_tokens: 7}`
  const models = new ModelCatalogue(read({ yaml }).models)

  expect(models.factsOf('gpt-5.1', null)).toMatchObject({
    contextTokens: 400_000,
    prices: { input: 1_000_000, output: 2_000_000, cachedInput: 3, cacheWrite: 1_000_000, longPrompts: [] },
    target: { reasoning: 'effort', takesSampling: false },
  })
  expect(models.factsOf('mine-1', null)).toMatchObject({
    contextTokens: 5,
    target: { takesSampling: false },
    prices: null,
  })
  expect(models.factsOf('claude-opus-5-5', null)).toMatchObject({
    target: { maxOutputTokens: 7, reasoning: 'adaptive' },
    prices: { input: 4_000_000 },
  })
  expect(pricesAt('{}', 'gpt-5.1')).toMatchObject({ input: 1_250_000 })
})

it.each([
  ['{id: "a*b"}', 'sluice.yaml:1:15: models[0].id: a "*" may only be the last character of a model id'],
  ['{id: "a*", aliases: [b]}', 'sluice.yaml:1:30: models[0].aliases: a pattern cannot have aliases'],
  ['{id: a, aliases: ["b*"]}', 'sluice.yaml:1:27: models[0].aliases: an alias cannot be a pattern'],
  [
    '{id: a, prices: {input: 1.5, output: 1}}',
    'sluice.yaml:1:34: models[0].prices.input must be a whole number from 0 to 1000000000000, not 1.5',
  ],
  [
    '{id: a, prices: {input: 1, output: 1, long_prompts: [{above_tokens: 5, input: 1, output: 1}, {above_tokens: 5, input: 1, output: 1}]}}',
    'sluice.yaml:1:62: models[0].prices.long_prompts must be in the order of rising above_tokens',
  ],
])('refuses %s', (entry, message) => {
  expect(readError({ yaml: `models: [${entry}]` }).message).toBe(message)
})

it('serves models under their other names, unless those are served themselves', () => {
  const upstream = (models: string): string =>
    `upstreams: [{id: a, dialect: openai-chat, base_url: "http://a", auth: none, models: [${models}]}]`
  const yaml = `
models:
  - {id: m, aliases: [smart, taken]}
  - {id: n-1, aliases: [quick, smart]}
  - {id: unserved, aliases: [nobody]}
${upstream('m, {id: "n-*", upstream_model: "x-*"}, taken')}`
  const { models, facts } = toSnapshotParts(read({ yaml }))

  expect(models.map(({ id, targets }) => [id, targets[0]?.upstreamModel])).toEqual([
    ['m', 'm'],
    ['n-*', 'x-*'],
    ['taken', 'taken'],
    ['smart', 'm'],
    ['quick', 'x-1'],
  ])
  expect(facts[0]?.id).toBe('m')
})
