import { describe, expect, it } from 'vitest'
import { geminiPath, googlePath, vertexHost } from '../../../src/dialects/gemini/address.ts'
import { failureOf } from '../../../src/dialects/common/failure.ts'
import { geminiFailure } from '../../../src/dialects/gemini/errors.ts'
import { videoCodec } from '../../../src/dialects/videos/codecs.ts'
import { loadUpstreamFixtures } from '../../support/recorded-fixtures.ts'

const PLACE = { project: 'my-project', location: 'europe-west4' }

describe('where Gemini is called', () => {
  it('has model and operation in the path of the Gemini API', () => {
    expect(geminiPath('gemini-3-flash', 'generateContent', null)).toBe('/v1beta/models/gemini-3-flash:generateContent')
    expect(geminiPath('models/gemini-3-flash', 'streamGenerateContent', null)).toBe(
      '/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse',
    )
    expect(geminiPath('tunedModels/mine', 'countTokens', null)).toBe('/v1beta/tunedModels/mine:countTokens')
  })

  it('is called the same whether or not the base URL names the version', () => {
    const path = (base: string): string => googlePath(base, 'gemini-3-flash', 'generateContent')
    expect(path('')).toBe('/v1beta/models/gemini-3-flash:generateContent')
    expect(path('/v1beta')).toBe('/v1beta/models/gemini-3-flash:generateContent')
    expect(path('/proxy')).toBe('/proxy/v1beta/models/gemini-3-flash:generateContent')
    expect(path('/proxy/v1beta')).toBe('/proxy/v1beta/models/gemini-3-flash:generateContent')
    expect(path('/v1')).toBe('/v1/models/gemini-3-flash:generateContent')
    expect(videoCodec('veo').lookPath('/v1beta', 'models/m/operations/1')).toBe('/v1beta/models/m/operations/1')
  })

  it('has project and location in the path of Vertex AI', () => {
    expect(geminiPath('gemini-2.5-pro', 'streamGenerateContent', PLACE)).toBe(
      '/v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    )
    expect(vertexHost(PLACE)).toBe('europe-west4-aiplatform.googleapis.com')
    expect(vertexHost({ ...PLACE, location: 'global' })).toBe('aiplatform.googleapis.com')
  })

  it('lets no name leave its place in the path', () => {
    expect(geminiPath('a?b#c:d', 'generateContent', null)).toBe('/v1beta/models/a%3Fb%23c%3Ad:generateContent')
    expect(geminiPath('m', 'predict', { project: 'a/b', location: '..' })).toContain('/projects/a%2Fb/')
  })
})

describe('errors of Gemini', () => {
  it('have the reason for their type, else the status, and keep the message', () => {
    const types = new Set<string>()
    for (const { id, kind, response, features } of loadUpstreamFixtures('gemini')) {
      if (kind !== 'error' || features.has('error:non-json') || !response.toString().startsWith('{')) continue
      const body = JSON.parse(response.toString()) as { error: { message: string } }
      const failure = geminiFailure(body)
      expect(failure.message, id).toBe(body.error.message.slice(0, 2000).trim())
      types.add(failure.type)
    }
    expect([...types].sort()).toMatchInlineSnapshot(`
      [
        "API_KEY_INVALID",
        "FAILED_PRECONDITION",
        "IAM_PERMISSION_DENIED",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "RESOURCE_EXHAUSTED",
        "SERVICE_DISABLED",
      ]
    `)
  })

  it('say in their body how long to wait', () => {
    const limited = loadUpstreamFixtures('gemini').filter(({ features }) => features.has('error:RetryInfo'))
    const delayOf = (value: unknown): number | undefined => failureOf(value).retryAfterSeconds
    const delays = limited.map(({ response }) => delayOf(JSON.parse(response.toString())))
    expect(delays).toHaveLength(1)
    expect(delays[0]).toBeGreaterThan(0)
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.0701s' }]
    expect(delayOf([{ error: { details } }])).toBe(34.0701)
    for (const retryDelay of ['34', '-1s', 'soon', 5, null]) {
      expect(delayOf({ error: { details: [{ ...details[0], retryDelay }] } })).toBeUndefined()
    }
    expect(delayOf('no')).toBeUndefined()
  })
})
