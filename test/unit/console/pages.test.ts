import { describe, expect, it } from 'vitest'
import { EXAMPLES, exampleOf } from '../../../src/console/pages/keys/examples.ts'
import { bodyOf, draftOf, EMPTY_DRAFT, errorsOf } from '../../../src/console/pages/keys/key-draft.ts'
import type { AnyKey } from '../../../src/console/pages/keys/key-calls.ts'
import { costLines } from '../../../src/console/pages/requests/cost-lines.ts'
import { curlOf } from '../../../src/console/pages/requests/curl.ts'
import { filterOf, isFiltered, queryOf } from '../../../src/console/pages/requests/filter.ts'
import type { LogDetail } from '../../../src/console/pages/requests/log-calls.ts'
import { wayBack } from '../../../src/console/shell/way-back.ts'

const NOW = new Date('2026-11-25T12:00:00Z')

describe('the way back after the log-in', () => {
  const origin = 'https://gateway.example'

  it.each([
    ['?back=/console/e/ent_1/keys?state=off', '/e/ent_1/keys?state=off'],
    ['?back=https://gateway.example/console/requests', '/requests'],
    ['', '/'],
    ['?back=https://elsewhere.example/console/keys', '/'],
    ['?back=//elsewhere.example/console/keys', '/'],
    ['?back=/console//elsewhere.example', '/'],
    ['?back=/consolex/keys', '/'],
    ['?back=javascript:alert(1)', '/'],
    ['?back=/api/auth/logout', '/'],
    ['?back=/console/login', '/'],
    ['?back=https://', '/'],
  ])('of %j is %j', (search, path) => {
    expect(wayBack(search, origin)).toBe(path)
  })
})

describe('the filter of the request log', () => {
  it('is in the URL, and a relative range ends now', () => {
    const filter = filterOf(
      new URLSearchParams('range=7d&status=404&tag=team:red&tag=stage:test&q=req_1&nonsense=1&model=m'),
    )
    expect(isFiltered(filter)).toBe(true)
    expect(queryOf(filter, NOW)).toEqual({
      from: '2026-11-18T12:00:00.000Z',
      status: 404,
      tag: ['team:red', 'stage:test'],
      model: 'm',
      request_id: 'req_1',
    })
  })

  it('is the last day by default, everything for "all", and what is fixed for from and to', () => {
    expect(queryOf(filterOf(new URLSearchParams('range=nonsense')), NOW)).toEqual({ from: '2026-11-24T12:00:00.000Z' })
    expect(queryOf(filterOf(new URLSearchParams('range=all')), NOW)).toEqual({})
    const fixed = filterOf(new URLSearchParams('from=2026-11-01&to=2026-11-02T00:00Z&range=1h'))
    expect(queryOf(fixed, NOW)).toEqual({ from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z' })
    // The server refuses shorter texts.
    expect(queryOf(filterOf(new URLSearchParams('range=all&q=r')), NOW)).toEqual({})
  })
})

describe('a key that is typed', () => {
  it('becomes the body of the API; what is empty has no limit', () => {
    const draft = {
      ...EMPTY_DRAFT,
      name: ' CI ',
      monthly_budget: '12.50',
      rpm: '1,000',
      models: ['m'],
      expires_at: '2026-11-30',
    }
    expect(errorsOf(draft, 'Asia/Shanghai', NOW)).toEqual({})
    expect(bodyOf(draft, 'Asia/Shanghai')).toMatchObject({
      name: 'CI',
      monthly_budget: 12_500_000,
      rpm: 1_000,
      tpm: null,
      models: ['m'],
      ip_allow: null,
      expires_at: '2026-11-30T16:00:00.000Z',
    })
  })

  it('is told what is wrong, at the field', () => {
    const draft = { ...EMPTY_DRAFT, monthly_budget: 'a lot', tpm: '-1', expires_at: '2026-11-24' }
    expect(errorsOf(draft, 'UTC', NOW)).toEqual({
      name: 'missing',
      monthly_budget: 'amount',
      tpm: 'count',
      expires_at: 'past',
    })
  })

  it('has budgets for some models, and a setting of bodies that replaces the one before', () => {
    const capture = {
      mode: 'on',
      requests: true,
      answers: false,
      sample: '12.5',
      redact: ['a{2}'],
      retain_days: '7',
    } as const
    const draft = {
      ...EMPTY_DRAFT,
      name: 'CI',
      mcp_tools: ['usage*'],
      model_budgets: [{ models: ['m', 'n*'], monthly_budget: '1', monthly_tokens: '' }],
      capture,
    }
    expect(errorsOf(draft, 'UTC', NOW)).toEqual({})
    expect(bodyOf(draft, 'UTC')).toMatchObject({
      mcp_tools: ['usage*'],
      model_budgets: [{ models: ['m', 'n*'], monthly_budget: 1_000_000, monthly_tokens: null }],
      capture: { requests: true, answers: false, sample: 0.125, redact: ['a{2}'], retain_days: 7 },
    })
    expect(bodyOf(EMPTY_DRAFT, 'UTC')).toMatchObject({ mcp_tools: null, model_budgets: null, capture: null })
    expect(bodyOf({ capture: { ...capture, mode: 'off' } }, 'UTC')).toEqual({
      capture: { requests: false, answers: false },
    })
    const wrong = {
      model_budgets: [{ models: ['m'], monthly_budget: '', monthly_tokens: '' }],
      capture: { ...capture, sample: '101' },
    }
    expect(errorsOf(wrong, 'UTC', NOW)).toEqual({ model_budgets: 'budget', capture: 'sample' })
  })

  it('comes back as it was saved', () => {
    const key = {
      name: 'CI',
      rpm: 60,
      tpm: null,
      max_concurrency: null,
      models: null,
      ip_allow: ['10.0.0.0/8'],
      client_allow: null,
      expires_at: '2026-11-30T16:00:00.000Z',
      monthly_budget: 12_500_000,
      mcp_tools: null,
      model_budgets: [{ models: ['m'], monthly_budget: 500_000, monthly_tokens: null }],
      capture: { requests: true, answers: false, sample: 0.125, redact: [], retain_days: 7 },
    } as unknown as AnyKey
    expect(draftOf(key, 'Asia/Shanghai')).toMatchObject({
      monthly_budget: '12.50',
      rpm: '60',
      tpm: '',
      ip_allow: ['10.0.0.0/8'],
      expires_at: '2026-11-30',
      model_budgets: [{ models: ['m'], monthly_budget: '0.50', monthly_tokens: '' }],
      capture: { mode: 'on', requests: true, answers: false, sample: '12.5', retain_days: '7' },
    })
  })
})

it('fills the key, the address and the model into every example', () => {
  for (const example of EXAMPLES) {
    const text = exampleOf(example, { origin: 'http://gateway:8787', key: 'sk-secret', model: 'm-1' })
    for (const part of ['http://gateway:8787', 'sk-secret', 'm-1']) expect(text, example).toContain(part)
  }
})

describe('a request in the log', () => {
  const detail = { prompt_tokens: 1_000, cached_tokens: 400, completion_tokens: 10 } as LogDetail

  it('costs its tokens by kind, at the prices of its length', () => {
    const prices = {
      input: 2_500_000,
      output: 10_000_000,
      cached_input: 250_000,
      cache_write: 2_500_000,
      long_prompts: [],
    }
    expect(costLines(detail, prices).map(({ kind, tokens, cost }) => [kind, tokens, cost])).toEqual([
      ['input', 600, 1_500],
      ['cached_input', 400, 100],
      ['output', 10, 100],
    ])
    const long = { ...prices, long_prompts: [{ ...prices, above_tokens: 900, output: 20_000_000 }] }
    expect(costLines(detail, long).at(-1)?.cost).toBe(200)
    expect(costLines(detail, null).map(({ cost }) => cost)).toEqual([null, null, null])
  })

  it('becomes a command without its key', () => {
    const command = curlOf({ endpoint: 'messages', model: "it's", stream: true }, 'http://gateway')
    expect(command).toContain('$SLUICE_API_KEY')
    expect(command).toContain('http://gateway/v1/messages')
    expect(command).toContain('anthropic-version')
    expect(command).toContain(String.raw`it'\''s`)
    const whole = curlOf(
      { endpoint: 'chat.completions', model: 'm', stream: true },
      'http://gateway',
      '{"model":"m","x":1}',
    )
    expect(whole).toContain(`--data-raw '{"model":"m","x":1}'`)
  })
})
