import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { AnswerRequest, BufferedAnswer } from '../../../src/core/dialect.ts'
import { GatewayError } from '../../../src/core/errors.ts'
import { readEmbeddings } from '../../../src/dialects/gemini-embeddings/answer.ts'
import { buildEmbeddings } from '../../../src/dialects/gemini-embeddings/request.ts'
import { readImages } from '../../../src/dialects/gemini-images/answer.ts'
import { buildImages } from '../../../src/dialects/gemini-images/request.ts'
import { loadUpstreamFixtures } from '../../support/recorded-fixtures.ts'
import type { Json } from '../../support/plain-json.ts'

function embeddings(inputs: number, encoding: 'float' | 'base64' = 'float'): AnswerRequest {
  return { expected: { kind: 'embeddings', encoding, inputs }, estimatedPromptTokens: 7 }
}

function images(wantsUrl: boolean): AnswerRequest {
  return { expected: { kind: 'images', wantsUrl }, estimatedPromptTokens: 7 }
}

function shown({ body }: BufferedAnswer): Json {
  if (body === null) throw new Error('no body')
  return JSON.parse(body.toString())
}

const RECORDED = loadUpstreamFixtures('gemini').filter(({ id }) => id.startsWith('embeddings/'))

describe('embeddings of Gemini', () => {
  it('are asked for as the recorded requests ask for them', () => {
    const id = 'gemini-embedding-multimodal-embeddings-gemini-gemini-embedding-2-embeds-text-with-custom-dimensions'
    const file = new URL(`../../fixtures/recorded/embeddings/${id}.request.json`, import.meta.url)
    const recorded = JSON.parse(readFileSync(fileURLToPath(file), 'utf8'))
    const input = recorded.requests[0].content.parts[0].text as string
    const request = { model: 'x', input, dimensions: 768, encoding_format: 'base64', user: 'u' }
    expect(buildEmbeddings(request, 'gemini-embedding-2')).toEqual({ body: recorded, dropped: ['user'] })
    expect(buildEmbeddings({ input: ['a', 'b'] }, 'm').body['requests']).toHaveLength(2)
  })

  it.each([[[1, 2]], [[[1], [2]]], [null]])('cannot be had of tokens: %j', (input) => {
    expect(() => buildEmbeddings({ input }, 'm')).toThrow(GatewayError)
  })

  it('are read from every recorded answer, as numbers and as bytes', () => {
    let read = 0
    for (const { id, kind, response } of RECORDED) {
      const value: Json = JSON.parse(response.toString())
      const floats = readEmbeddings(value, embeddings(1), 'm')
      if (kind === 'error') {
        expect(floats.failure?.type, id).toBe('NOT_FOUND')
        continue
      }
      const { values } = value.embedding ?? value.embeddings[0]
      const tokens = value.usageMetadata?.promptTokenCount ?? 7
      expect(shown(floats), id).toEqual({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: values }],
        model: 'm',
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      })
      const packed = Buffer.from(shown(readEmbeddings(value, embeddings(1, 'base64'), 'm')).data[0].embedding, 'base64')
      expect(packed.length, id).toBe(4 * values.length)
      expect(packed.readFloatLE(4), id).toBeCloseTo(values[1], 6)
      read++
    }
    expect(read).toBe(3)
  })

  it('are read from predictions of older models, whose counts are added up', () => {
    const one = (count: number): Json => ({ embeddings: { values: [1, 2], statistics: { token_count: count } } })
    const { usage } = readEmbeddings({ predictions: [one(2), one(3)] }, embeddings(2), 'm')
    expect(usage?.promptTokens).toBe(5)
  })

  it.each([
    [{}],
    [{ embeddings: [] }],
    [{ embeddings: [{ values: [] }] }],
    [{ embeddings: [{ values: ['a'] }] }],
    [{ embeddings: [{ values: [1] }, { values: [1] }] }],
    [null],
  ])('are a failure where they are none: %j', (value) => {
    expect(readEmbeddings(value, embeddings(1), 'm').failure).not.toBeNull()
  })
})

describe('pictures of Gemini and Imagen', () => {
  it('are asked for by shape', () => {
    expect(
      buildImages({ model: 'x', prompt: 'a cat', n: 2, size: '1920x1080', response_format: 'url' }, 'predict'),
    ).toEqual({
      body: { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 2, aspectRatio: '16:9' } },
      dropped: [],
    })
    expect(buildImages({ prompt: 'a cat', size: '1536x1000', quality: 'high' }, 'content')).toEqual({
      body: {
        contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
        generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '3:2' } },
      },
      dropped: ['quality', 'size'],
    })
    expect(buildImages({ prompt: 'a cat', size: 'auto' }, 'predict').body['parameters']).toEqual({ sampleCount: 1 })
  })

  it('are refused where there would be fewer than asked for, or a stream of them', () => {
    expect(() => buildImages({ prompt: 'a', n: 2 }, 'content')).toThrow(GatewayError)
    expect(() => buildImages({ prompt: 'a', stream: true }, 'predict')).toThrow(GatewayError)
  })

  it('are read from predictions, without those that were kept back', () => {
    const predictions = [{ bytesBase64Encoded: 'AAAA', mimeType: 'image/jpeg' }, { raiFilteredReason: 'a child' }]
    expect(shown(readImages({ predictions }, images(true), 5))).toEqual({
      created: 5,
      data: [{ b64_json: 'AAAA', url: 'data:image/jpeg;base64,AAAA' }],
    })
    expect(shown(readImages({ predictions }, images(false), 5)).data).toEqual([{ b64_json: 'AAAA' }])
    expect(readImages({ predictions: predictions.slice(1) }, images(true), 5).failure).toEqual({
      message: 'a child',
      type: 'no_image',
    })
  })

  it('are read from a recorded answer in text and pictures, with its usage', () => {
    const fixture = loadUpstreamFixtures('gemini').find(({ id }) => id.endsWith('unary-success-empty-part'))
    const answer = readImages(JSON.parse(String(fixture?.response)), images(true), 5)
    expect(shown(answer).data).toHaveLength(1)
    expect(shown(answer).data[0].url).toMatch(/^data:image\/png;base64,iVBOR/)
    expect(answer.usage).toMatchObject({ promptTokens: 33, completionTokens: 299 })
  })

  it.each([[null], [{}], [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }], [{ error: { message: 'x' } }]])(
    'are a failure where there are none: %j',
    (value) => {
      expect(readImages(value, images(true), 5).failure).not.toBeNull()
    },
  )
})
