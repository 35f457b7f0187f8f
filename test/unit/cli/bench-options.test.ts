import { expect, it } from 'vitest'
import { settingsOf } from '../../../src/cli/bench/options.ts'
import type { BenchOptions } from '../../../src/cli/bench/options.ts'

const DEFAULTS: BenchOptions = { seconds: '4', connections: '64', html: false }
const DEPLOYMENT = { url: 'https://ai.example.com', key: 'sk-1', model: 'gpt-4o-mini' }

it('takes a laboratory without any option', () => {
  const settings = settingsOf(DEFAULTS, {})
  expect(settings).toMatchObject({ url: null, seconds: 4, connections: 64, rate: null, maxCost: null, price: null })
  expect(settings.only).toHaveLength(10)
})

it('takes a URL with or without /v1, and the key from the environment', () => {
  for (const url of ['https://ai.example.com', 'https://ai.example.com/', 'https://ai.example.com/v1']) {
    const settings = settingsOf({ ...DEFAULTS, url, model: 'm' }, { SLUICE_API_KEY: 'sk-2' })
    expect(settings).toMatchObject({ url: 'https://ai.example.com', key: 'sk-2' })
  }
})

it('reads prices as dollars per million tokens', () => {
  const { price } = settingsOf({ ...DEFAULTS, ...DEPLOYMENT, price: '2.50, 10' }, {})
  expect(price?.prompt).toBeCloseTo(0.0000025, 12)
  expect(price?.completion).toBeCloseTo(0.00001, 12)
})

it('runs scenarios in their own order, each once', () => {
  expect(settingsOf({ ...DEFAULTS, only: 'accounting, streamed,streamed' }, {}).only).toEqual([
    'streamed',
    'accounting',
  ])
})

it.each<[Partial<BenchOptions>, string]>([
  [{ seconds: 'long' }, '--seconds long is not a number from 0.5 to 3600'],
  [{ seconds: '0' }, '--seconds 0 is not'],
  [{ rate: '-1' }, '--rate -1 is not a number from 0.1'],
  [{ connections: '1.5' }, '--connections 1.5 is not a whole number from 1 to 512'],
  [{ speed: '0' }, '--speed 0 is not'],
  [{ only: 'buffered,all' }, '--only has no scenario "all": it takes buffered, streamed'],
  [{ model: 'gpt-4o' }, '--model is for a deployment: name it by --url'],
  [{ maxCost: '1' }, '--max-cost is for a deployment'],
  [{ keysFile: 'keys' }, '--keys-file is for a deployment'],
  [{ ...DEPLOYMENT, url: 'ai.example.com' }, '--url ai.example.com is not a URL that begins with http:// or https://'],
  [{ url: DEPLOYMENT.url, model: 'm' }, '--url needs the API key of the requests: give --key, or set SLUICE_API_KEY'],
  [{ url: DEPLOYMENT.url, key: 'sk-1' }, '--url needs a model: give --model'],
  [{ ...DEPLOYMENT, price: '2.5' }, '--price 2.5 is not two numbers'],
  [{ ...DEPLOYMENT, price: '2.5,-1' }, '--price 2.5,-1 is not two numbers'],
  [{ ...DEPLOYMENT, maxCost: 'much' }, '--max-cost much is not a number'],
  [{ ...DEPLOYMENT, pid: '4194304' }, '--pid 4194304 is no process of this machine'],
  [{ ...DEPLOYMENT, keysFile: '/no/such/file' }, '--keys-file /no/such/file cannot be read'],
])('refuses %j, naming the option and what it takes', (options, says) => {
  expect(() => settingsOf({ ...DEFAULTS, ...options }, {})).toThrow(says)
})
