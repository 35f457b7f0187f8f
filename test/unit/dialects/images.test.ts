import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { Images } from '../../../src/shared/endpoints/images.ts'
import type { AnswerRequest } from '../../../src/shared/core/dialect.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { loadEndpointFixtures } from '../../support/recorded-fixtures.ts'

const dialect = dialectOf('openai-images')
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const asking = (wantsUrl: boolean): AnswerRequest => ({
  expected: { kind: 'images', wantsUrl, count: 1 },
  estimatedPromptTokens: 9,
})

interface Answer {
  data: Array<{ url?: string; b64_json?: string }>
}

describe('recorded images', () => {
  it.each(
    loadEndpointFixtures('images')
      .filter(({ status }) => status === 200)
      .map((fixture) => [fixture.id, fixture] as const),
  )('%s has a URL for each image', (_, { response }) => {
    const { failure, body } = dialect.readAnswer(response, asking(true))
    expect(failure).toBeNull()
    const answer = JSON.parse((body ?? response).toString()) as Answer
    expect([...Compile(Images).Errors(answer)]).toEqual([])
    for (const { url } of answer.data) expect(url).toMatch(/^(https:|data:image\/)/)
  })

  it('are counted in tokens where the service counts them', () => {
    const found = loadEndpointFixtures('images').find(({ id }) => id.includes('quality-reaches'))
    expect(found && dialect.readAnswer(found.response, asking(true)).usage).toMatchObject({
      promptTokens: 14,
      completionTokens: 272,
    })
  })
})

it('leaves bytes alone when bytes were asked for, and URLs always', () => {
  expect(dialect.readAnswer(json({ data: [{ b64_json: 'aGk=' }] }), asking(false)).body).toBeNull()
  expect(dialect.readAnswer(json({ data: [{ url: 'https://x/y' }] }), asking(true)).body).toBeNull()
})

it.each([
  ['iVBORw0KGgo=', 'png', undefined],
  ['/9j/4AAQ', 'jpeg', undefined],
  ['UklGRiQA', 'webp', undefined],
  ['aGVsbG8=', 'jpeg', 'jpeg'],
  ['aGVsbG8=', 'png', undefined],
])('names the type of %s in the URL: image/%s', (bytes, type, format) => {
  const answer = { data: [{ b64_json: bytes }], ...(format === undefined ? {} : { output_format: format }) }
  const { body } = dialect.readAnswer(json(answer), asking(true))
  expect(JSON.parse(String(body))).toMatchObject({
    data: [{ b64_json: bytes, url: `data:image/${type};base64,${bytes}` }],
  })
})

it.each([
  ['an error', { error: { message: 'boom', type: 'image_generation_user_error' } }],
  ['no images', { data: [] }],
  ['an image of nothing', { data: [{ revised_prompt: 'x' }] }],
])('takes %s for a failure', (_, answer) => {
  expect(dialect.readAnswer(json(answer), asking(true)).failure).not.toBeNull()
})
