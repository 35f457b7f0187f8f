import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../../../src/shared/core/service.ts'
import type { ProtocolOf } from '../../../../src/shared/core/service.ts'
import type { ServiceRules } from '../../../../src/shared/core/service.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadUpstreamFixtures } from '../../../support/recorded-fixtures.ts'
import { ask as askService, shown } from './ask.ts'
import type { Asked } from './ask.ts'

type Protocol = ProtocolOf<'images'>

const ask = (protocol: Protocol, request: object, rules: ServiceRules = {}): Asked =>
  askService('images.generations', protocol, { prompt: 'a cat', ...request }, rules)

const PNG = 'iVBORw0KGgo='
const DATA_URL = `data:image/png;base64,${PNG}`

/** How each service answers with so many pictures. */
const ANSWERS: Readonly<Record<Protocol, (count: number) => unknown>> = {
  'openai-images': (count) => ({ created: 1, data: Array.from({ length: count }, () => ({ b64_json: PNG })) }),
  'xai-images': (count) => ({ data: Array.from({ length: count }, () => ({ b64_json: PNG })) }),
  'together-images': (count) => ({ data: Array.from({ length: count }, (_, index) => ({ index, b64_json: PNG })) }),
  'siliconflow-images': (count) => ({ images: Array.from({ length: count }, () => ({ url: DATA_URL })) }),
  'openrouter-images': () => ({ choices: [{ message: { content: '', images: [{ image_url: { url: DATA_URL } }] } }] }),
  'gemini-images': () => ({
    candidates: [{ content: { parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: PNG } }] } }],
  }),
  imagen: (count) => ({
    predictions: Array.from({ length: count }, () => ({ mimeType: 'image/png', bytesBase64Encoded: PNG })),
  }),
}

describe('what each service is asked', () => {
  it.each<[Protocol, Json, string[]]>([
    [
      'openai-images',
      { model: 'u', prompt: 'a cat', n: 1, size: '1920x1080', quality: 'high', response_format: 'b64_json' },
      [],
    ],
    [
      'xai-images',
      { model: 'u', prompt: 'a cat', n: 1, aspect_ratio: '16:9', quality: 'high', response_format: 'b64_json' },
      [],
    ],
    [
      'together-images',
      { model: 'u', prompt: 'a cat', n: 1, width: 1920, height: 1080, quality: 'high', response_format: 'base64' },
      [],
    ],
    [
      'siliconflow-images',
      { model: 'u', prompt: 'a cat', batch_size: 1, image_size: '1920x1080', quality: 'high' },
      [],
    ],
    [
      'openrouter-images',
      {
        model: 'u',
        messages: [{ role: 'user', content: 'a cat' }],
        modalities: ['image', 'text'],
        image_config: { aspect_ratio: '16:9' },
        quality: 'high',
      },
      [],
    ],
    [
      'gemini-images',
      {
        contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
        generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
      },
      ['quality'],
    ],
    ['imagen', { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 1, aspectRatio: '16:9' } }, ['quality']],
  ])('%s', (protocol, body, dropped) => {
    const asked = ask(protocol, { size: '1920x1080', quality: 'high', response_format: 'b64_json' })
    expect(asked.bodies).toEqual([body])
    expect(asked.dropped).toEqual(dropped)
  })

  it('sizes that are none are the service’s own affair', () => {
    expect(ask('openai-images', { size: 'auto' }).bodies[0]?.size).toBe('auto')
    expect(ask('imagen', { size: 'auto' }).bodies[0]?.parameters).toEqual({ sampleCount: 1 })
  })

  it('the nearest shape, and it is told', () => {
    const { bodies, dropped } = ask('gemini-images', { size: '1536x1000' })
    expect(bodies[0]?.generationConfig.imageConfig).toEqual({ aspectRatio: '3:2' })
    expect(dropped).toEqual(['size'])
  })

  it('in as many calls as it takes', () => {
    expect(ask('imagen', { n: 10 }).bodies.map(({ parameters }: Json) => parameters.sampleCount as number)).toEqual([
      4, 4, 2,
    ])
    expect(ask('openai-images', { n: 3 }, { maxPerCall: 1 }).sizes).toEqual([1, 1, 1])
  })

  it('without what it refuses, though the answer keeps the promise', () => {
    const asked = ask('openai-images', { response_format: 'url' }, { refusedFields: ['response_format'] })
    expect(asked.bodies).toEqual([{ model: 'u', prompt: 'a cat', n: 1 }])
    expect(asked.dropped).toEqual([])
    expect(shown(asked.answered(ANSWERS['openai-images'](1))).data).toEqual([{ b64_json: PNG, url: DATA_URL }])
  })
})

describe('what comes back', () => {
  const protocols = SERVICES.images.protocols.map((protocol) => [protocol] as const)

  it.each(protocols)('of %s has URLs, of all calls', (protocol) => {
    const asked = ask(protocol, { n: 5 })
    const answer = shown(asked.answered(...asked.sizes.map(ANSWERS[protocol])))
    expect(answer.data).toHaveLength(5)
    expect(new Set(answer.data.map(({ url }: Json) => url as string))).toEqual(new Set([DATA_URL]))
    expect(answer.created).toBe(5)
  })

  it.each(protocols)('of %s is bytes alone when those are asked for', (protocol) => {
    const asked = ask(protocol, { response_format: 'b64_json' })
    expect(shown(asked.answered(ANSWERS[protocol](1))).data).toEqual([{ b64_json: PNG }])
  })

  it.each(protocols)('of %s is no answer without a picture', (protocol) => {
    const { answered } = ask(protocol, {})
    for (const answer of [{}, null, [], { data: [] }, { data: [{}] }]) {
      expect(answered(answer).failure?.type).toBe('invalid_answer')
    }
    expect(answered({ error: { message: 'boom' } }).failure?.message).toBe('boom')
  })

  it('is without those that were kept back, and an error of the request when all were', () => {
    const { answered } = ask('imagen', { n: 2 })
    const predictions = [{ bytesBase64Encoded: 'AAAA', mimeType: 'image/jpeg' }, { raiFilteredReason: 'a child' }]
    expect(shown(answered({ predictions })).data).toEqual([{ b64_json: 'AAAA', url: 'data:image/jpeg;base64,AAAA' }])
    const refused = { message: 'No image was made: a child', type: 'invalid_request_error' }
    expect(answered({ predictions: predictions.slice(1) }).failure).toEqual(refused)
    const withheld = ask('gemini-images', {}).answered({ candidates: [{ finishReason: 'IMAGE_SAFETY' }] })
    expect(withheld.failure?.type).toBe('invalid_request_error')
  })

  it('is read from a recorded answer in text and pictures, with its usage', () => {
    const fixture = loadUpstreamFixtures('gemini').find(({ id }) => id.endsWith('unary-success-empty-part'))
    const answer = ask('gemini-images', {}).answered(JSON.parse(String(fixture?.response)))
    expect(shown(answer).data).toHaveLength(1)
    expect(shown(answer).data[0].url).toMatch(/^data:image\/png;base64,iVBOR/)
    expect(answer.usage).toMatchObject({ promptTokens: 33, completionTokens: 299 })
  })

  it('is counted in all calls, or not at all', () => {
    const asked = ask('gemini-images', { n: 2 })
    const counted = (tokens: number): object => ({
      ...(ANSWERS['gemini-images'](1) as object),
      usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 100, totalTokenCount: tokens + 100 },
    })
    expect(asked.answered(counted(3), counted(4)).usage).toMatchObject({ promptTokens: 7, completionTokens: 200 })
    expect(asked.answered(counted(3), ANSWERS['gemini-images'](1)).usage).toBeNull()
  })
})
