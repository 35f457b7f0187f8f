import { expect, it } from 'vitest'
import { ConfigError } from '../../../src/shared/config/config-error.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { read } from './load.ts'

const KEY = generateApiKey()

it('reads groups of models, and budgets of keys for models', () => {
  const { modelGroups, keys } = read({
    yaml: `model_groups: [{id: frontier, models: [gpt-4o, "claude-*"]}]
keys: [{name: k, key: ${KEY}, model_budgets: [{models: [frontier], monthly_budget: 5, monthly_tokens: 6}, {models: [m], monthly_tokens: 7}]}]`,
  })
  expect(modelGroups).toEqual([{ id: 'frontier', models: ['gpt-4o', 'claude-*'] }])
  expect(keys[0]?.modelBudgets).toEqual([
    { models: ['frontier'], moneyMicro: 5, tokens: 6 },
    { models: ['m'], moneyMicro: null, tokens: 7 },
  ])
})

it('has no groups by default', () => {
  const { modelGroups, keys } = read({ yaml: `keys: [{name: k, key: ${KEY}}]` })
  expect([modelGroups, keys[0]?.modelBudgets]).toEqual([[], []])
})

it.each([
  ['model_groups: [{id: gpt-4o, models: [m]}]', 'model_groups[0].id: a model has this id'],
  ['model_groups: [{id: a, models: [m]}, {id: a, models: [n]}]', 'model_groups[1].id: a group is listed twice'],
  ['model_groups: [{id: a, models: [m, m]}]', 'model_groups[0].models[1]: a model is listed twice'],
  ['model_groups: [{id: a, models: ["m*n"]}]', 'model_groups[0].models[0]: a "*" may only be the last'],
  ['model_groups: [{id: a, models: []}]', 'model_groups[0].models'],
  ['model_groups: [{id: "a b", models: [m]}]', 'model_groups[0].id'],
  [`keys: [{name: k, key: ${KEY}, model_budgets: [{models: [m]}]}]`, 'keys[0].model_budgets[0]: give monthly_budget'],
  [
    `keys: [{name: k, key: ${KEY}, model_budgets: [{models: [m, m], monthly_budget: 1}]}]`,
    'keys[0].model_budgets[0].models[1]: a model is listed twice',
  ],
])('refuses %s', (yaml, problem) => {
  expect(() => read({ yaml })).toThrow(ConfigError)
  expect(() => read({ yaml })).toThrow(problem)
})
