import { describe, expect, it } from 'vitest'
import { csvText } from '../../../src/console/format/csv.ts'
import { CODES, codeOf } from '../../../src/console/pages/playground/code.ts'
import { bodyOf, DIALECTS, promptOf } from '../../../src/console/pages/playground/prompt.ts'
import type { Prompt } from '../../../src/console/pages/playground/prompt.ts'
import { bucketsFor, questionOf, usageQueryOf } from '../../../src/console/pages/statistics/question.ts'
import { monthAfter, monthOf } from '../../../src/console/pages/wallet/months.ts'

const DAY_MS = 86_400_000
const OWN = { kind: 'own' } as const

describe('the question of the statistics', () => {
  it('is in the URL, with what is missing or wrong by default', () => {
    const question = questionOf(new URLSearchParams('group=nonsense&metric=cost&sub=key&top=7&bucket=month'), OWN)
    expect(question).toMatchObject({
      groupBy: null,
      metric: 'cost',
      subgroup: 'key',
      top: 5,
      period: '7d',
      bucket: 'hour',
    })
    expect(questionOf(new URLSearchParams(), OWN)).toMatchObject({ groupBy: 'model', metric: 'requests' })
    expect(questionOf(new URLSearchParams('group=upstream_key'), OWN).groupBy).toBeNull()
    expect(questionOf(new URLSearchParams('group=tag:team'), OWN).groupBy).toBe('tag:team')
  })

  it('becomes the query of the API, ranked by its metric, within its filters', () => {
    const asked = questionOf(new URLSearchParams('range=30d&group=key&metric=cost&top=10&status=404&tag=team:red'), OWN)
    expect(usageQueryOf(asked, 'Asia/Shanghai')).toEqual({
      period: '30d',
      granularity: 'day',
      time_zone: 'Asia/Shanghai',
      group_by: 'key',
      limit: 10,
      sort: 'cost',
      status: 404,
      tag: ['team:red'],
    })
    const zoomed = questionOf(new URLSearchParams('from=2026-11-20T00:30:00Z&to=2026-11-20T06:00:00Z'), OWN)
    expect(usageQueryOf(zoomed, 'UTC')).toMatchObject({
      period: '6h',
      to: '2026-11-20T06:00:00.000Z',
      granularity: 'hour',
    })
  })

  it('has whole hours between fixed ends: all that were asked for, and no other', () => {
    const asked = questionOf(new URLSearchParams('from=2026-11-20T10:50:00Z&to=2026-11-20T12:10:00Z'), OWN)
    expect(usageQueryOf(asked, 'UTC')).toMatchObject({ period: '3h', to: '2026-11-20T13:00:00.000Z' })
    expect(asked.fixed).toEqual({
      fromMs: Date.parse('2026-11-20T10:00:00Z'),
      toMs: Date.parse('2026-11-20T13:00:00Z'),
    })
  })

  it('cuts time into at most 500 stretches', () => {
    expect(bucketsFor(DAY_MS)).toEqual(['hour', 'day'])
    expect(bucketsFor(7 * DAY_MS)).toEqual(['hour', 'day', 'week'])
    expect(bucketsFor(90 * DAY_MS)).toEqual(['day', 'week', 'month'])
  })
})

describe('a prompt', () => {
  const prompt: Prompt = {
    dialect: 'chat.completions',
    model: 'm',
    system: 'Be brief',
    turns: [
      { role: 'user', text: "What's up?" },
      { role: 'assistant', text: 'All' },
      { role: 'user', text: 'More' },
    ],
    maxTokens: 9,
    temperature: 0.5,
  }

  it.each(DIALECTS)('comes back from a body of %s as it was written', (dialect) => {
    const { dialect: _, model: __, ...rest } = prompt
    expect(promptOf(dialect, JSON.stringify(bodyOf({ ...prompt, dialect })))).toEqual({ ...rest, isPartial: false })
  })

  it('leaves out what was not filled in, and says what it cannot show', () => {
    const bare = { ...prompt, system: '', maxTokens: null, temperature: null }
    expect(Object.keys(bodyOf(bare))).toEqual(['model', 'messages'])
    expect(Object.keys(bodyOf({ ...bare, dialect: 'messages' }))).toContain('max_tokens')
    const image = {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: {} },
      ],
    }
    expect(promptOf('chat.completions', JSON.stringify({ messages: [image] }))).toMatchObject({
      turns: [{ role: 'user', text: 'What is it?' }],
      isPartial: true,
    })
    expect(promptOf('responses', '{"input":"hi"}')?.turns).toEqual([{ role: 'user', text: 'hi' }])
    for (const body of ['', '{"messages":1}', 'null']) expect(promptOf('chat.completions', body)).toBeNull()
  })

  it('is a program without the key in every language', () => {
    for (const dialect of DIALECTS) {
      for (const code of CODES) {
        const text = codeOf(code, { ...prompt, dialect }, 'http://gateway:8787')
        for (const part of ['http://gateway:8787', 'SLUICE_API_KEY', 'Be brief']) expect(text, code).toContain(part)
      }
    }
    expect(codeOf('curl', prompt, 'http://g')).toContain(String.raw`What'\''s up?`)
  })
})

it('writes CSV that spreadsheets do not run', () => {
  expect(
    csvText([
      ['name', 'amount'],
      ['=1+1', -5],
      ['a "b", c', '-1.50'],
    ]),
  ).toBe('name,amount\r\n\'=1+1,-5\r\n"a ""b"", c",-1.50')
})

it('goes through months in the zone of the enterprise', () => {
  expect(monthOf('2026-10-31T16:00:00.000Z', 'Asia/Shanghai')).toBe('2026-11')
  expect([monthAfter('2026-11', 2), monthAfter('2026-01', -1)]).toEqual(['2027-01', '2025-12'])
})
