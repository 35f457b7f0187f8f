import { describe, expect, it } from 'vitest'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { videoCodec } from '../../../src/dialects/videos/codecs.ts'
import type { VendorJob } from '../../../src/dialects/videos/job.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import { loadEndpointFixtures } from '../../support/recorded-fixtures.ts'

const dialect = dialectOf('openai-videos')
const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })
const NO_REQUEST = { expected: null, estimatedPromptTokens: 0 }
const readJob = (body: Buffer): VendorJob => videoCodec('openai-videos').parseLook(JSON.parse(body.toString()))
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

describe('the creation of a job', () => {
  const prepare = (text: string): string =>
    dialect
      .prepareBody(validator.validate('video.generations', Buffer.from(text)), { model: 'v', stream: false })
      .toString()

  it('asks for seconds, as a text, in the place of a duration, and changes nothing else but the model', () => {
    expect(prepare('{"model":"m","duration": 8, "prompt":"a","async":true,"x":1.50}')).toBe(
      '{"model":"v", "prompt":"a","x":1.50,"seconds":"8"}',
    )
    expect(prepare('{ "model":"v","prompt":"a" ,"size":"1280x720"}')).toBe(
      '{ "model":"v","prompt":"a" ,"size":"1280x720"}',
    )
    expect(prepare('{"model":"v","prompt":"a","duration":null}')).toBe('{"model":"v","prompt":"a"}')
    expect(prepare('{"model":"v","prompt":"a","duration":8,"seconds":"12"}')).toBe(
      '{"model":"v","prompt":"a","seconds":"12"}',
    )
  })

  it('is answered with its id', () => {
    const created = loadEndpointFixtures('video').filter(({ id }) => id.includes('openai-video-post'))
    expect(created.length).toBeGreaterThan(0)
    for (const { response } of created) {
      const { job, failure } = dialect.readAnswer(response, NO_REQUEST)
      expect(job?.id).toMatch(/^video_/)
      expect(failure).toBeNull()
      expect(readJob(response)).toMatchObject({ status: 'queued', progress: 0 })
    }
  })

  it.each([[{ error: { message: 'boom' } }], [{}], [[]], [{ id: '' }]])(
    'has failed when the answer is %j',
    (answer) => {
      expect(dialect.readAnswer(json(answer), NO_REQUEST).failure).not.toBeNull()
    },
  )
})

describe('a look at a job', () => {
  it.each([
    ['queued', 'queued'],
    ['pending', 'queued'],
    ['in_progress', 'in_progress'],
    ['rendering', 'in_progress'],
    ['completed', 'completed'],
    ['SUCCEEDED', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'failed'],
  ])('takes %s for %s', (word, status) => {
    expect(readJob(json({ id: 'x', status: word })).status).toBe(status)
  })

  it.each([
    ['moderation_blocked', true],
    ['invalid_prompt', true],
    ['content_policy_violation', true],
    ['video_generation_failed', false],
    ['server_error', false],
  ])('takes %s for a refusal: %s', (code, isRefused) => {
    const job = readJob(json({ status: 'failed', error: { code, message: 'why' } }))
    expect(job).toMatchObject({ isRefused, failure: { message: 'why' } })
  })

  it('is none when it is not JSON, or no object', () => {
    for (const body of ['', '<html>', '[]']) expect(() => readJob(Buffer.from(body))).toThrow(SyntaxError)
  })
})
