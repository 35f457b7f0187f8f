import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../../../src/shared/core/service.ts'
import type { VideoProtocol } from '../../../../src/shared/core/service.ts'
import { videoCodec } from '../../../../src/dialects/videos/codecs.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadEndpointFixtures } from '../../../support/recorded-fixtures.ts'
import { ask as askService, refusalOf } from './ask.ts'
import type { Asked } from './ask.ts'

const ask = (protocol: VideoProtocol, request: object): Asked =>
  askService('video.generations', protocol, { prompt: 'waves', ...request })

const URL_OF_IT = 'https://storage.example.com/v.mp4'

/** What each service tells of jobs. */
const TOLD: Readonly<Record<Exclude<VideoProtocol, 'openai-videos'>, Readonly<Record<string, Json>>>> = {
  veo: {
    created: { name: 'models/u/operations/job' },
    running: { name: 'models/u/operations/job' },
    done: {
      name: 'x',
      done: true,
      response: { generateVideoResponse: { generatedSamples: [{ video: { uri: URL_OF_IT } }] } },
    },
    refused: { name: 'x', done: true, response: { generateVideoResponse: { raiMediaFilteredReasons: ['why'] } } },
    failed: { name: 'x', done: true, error: { code: 13, message: 'why' } },
  },
  'xai-videos': {
    created: { request_id: 'job' },
    running: { status: 'pending', progress: 30 },
    done: { status: 'done', video: { url: URL_OF_IT, respect_moderation: true } },
    refused: { status: 'done', video: { respect_moderation: false } },
    failed: { status: 'failed', error: { message: 'why' } },
  },
  'dashscope-videos': {
    created: { output: { task_id: 'job', task_status: 'PENDING' } },
    running: { output: { task_id: 'job', task_status: 'RUNNING' } },
    done: { output: { task_status: 'SUCCEEDED', video_url: URL_OF_IT } },
    refused: { output: { task_status: 'FAILED', code: 'DataInspectionFailed', message: 'why' } },
    failed: { output: { task_status: 'UNKNOWN', code: 'InternalError', message: 'why' } },
  },
  'ark-videos': {
    created: { id: 'job' },
    running: { id: 'job', status: 'running' },
    done: { id: 'job', status: 'succeeded', content: { video_url: URL_OF_IT } },
    refused: { status: 'failed', error: { code: 'InputTextSensitiveContentDetected', message: 'why' } },
    failed: { status: 'failed', error: { code: 'InternalServiceError', message: 'why' } },
  },
}

describe('the creation of a job', () => {
  it.each<[VideoProtocol, Json, string[]]>([
    ['openai-videos', { model: 'u', prompt: 'waves', size: '1920x1000', seconds: '8', user: 'w' }, []],
    [
      'veo',
      {
        instances: [{ prompt: 'waves' }],
        parameters: { aspectRatio: '16:9', resolution: '1080p', durationSeconds: 8 },
      },
      ['user', 'size'],
    ],
    [
      'xai-videos',
      { model: 'u', prompt: 'waves', aspect_ratio: '16:9', resolution: '720p', duration: 8, user: 'w' },
      ['size'],
    ],
    [
      'dashscope-videos',
      { model: 'u', input: { prompt: 'waves' }, parameters: { size: '1920*1000', duration: 8 } },
      ['user'],
    ],
    [
      'ark-videos',
      { model: 'u', content: [{ type: 'text', text: 'waves' }], ratio: '16:9', resolution: '1080p', duration: 8 },
      ['user', 'size'],
    ],
  ])('in the words of %s', (protocol, body, dropped) => {
    const asked = ask(protocol, { size: '1920x1000', duration: 8, user: 'w', async: true })
    expect(asked.bodies).toEqual([body])
    expect(asked.dropped).toEqual(dropped)
  })

  it('asks nothing that the client did not', () => {
    expect(ask('veo', {}).bodies).toEqual([{ instances: [{ prompt: 'waves' }], parameters: {} }])
  })

  it('as the recorded one asks', () => {
    const recorded = loadEndpointFixtures('video').find(({ id }) => id.endsWith('gemini-video-job-step-01'))
    const body = JSON.parse(String(recorded?.request))
    expect(ask('veo', { prompt: body.instances[0].prompt, duration: 4 }).bodies).toEqual([body])
  })

  it.each(Object.entries(TOLD))('by %s is told by its name', (protocol, { created }) => {
    const { answered } = ask(protocol as VideoProtocol, {})
    const id = protocol === 'veo' ? 'models/u/operations/job' : 'job'
    expect(answered(created)).toMatchObject({ job: { id, protocol }, failure: null })
    for (const none of [{}, null, [], { error: { message: 'boom' } }]) expect(answered(none).failure).not.toBeNull()
  })

  it('never takes a path for the name of an operation', () => {
    for (const name of ['../../v1/files', '/models/u', 'https://x/y', 'models/u?key=', 'a b/c', 'u']) {
      expect(ask('veo', {}).answered({ name }).failure, name).not.toBeNull()
    }
  })

  it('is not begun with a picture that could not be given', () => {
    for (const protocol of ['veo', 'dashscope-videos', 'ark-videos'] as const) {
      expect(refusalOf(() => ask(protocol, { image: 'x' }))).toEqual({ code: 'UNSUPPORTED_FIELD', param: '/image' })
    }
  })
})

describe('a look at a job', () => {
  it.each(Object.entries(TOLD))('of %s', (protocol, { running, done, refused, failed }) => {
    const { parseLook } = { parseLook: (answer: unknown) => videoCodec(protocol as VideoProtocol).parseLook(answer) }
    expect(parseLook(running)).toMatchObject({
      status: expect.stringMatching(/queued|in_progress/) as string,
      source: null,
    })
    expect(parseLook(done)).toMatchObject({ status: 'completed', source: URL_OF_IT, failure: null })
    expect(parseLook(refused)).toMatchObject({ status: 'failed', isRefused: true, source: null })
    expect(parseLook(failed)).toMatchObject({ status: 'failed', isRefused: false, failure: { message: 'why' } })
  })

  it('reads the recorded job of Gemini from its beginning to its end', () => {
    const steps = loadEndpointFixtures('video').filter(({ id }) => id.includes('gemini-video-job'))
    const [first, second, third] = steps.map(({ response }) => JSON.parse(String(response)))
    const { job } = ask('veo', {}).answered(first)
    expect(videoCodec('veo').lookPath('', job?.id ?? '')).toBe(`/v1beta/${String(first.name)}`)
    expect(videoCodec('veo').parseLook(second).status).toBe('in_progress')
    expect(videoCodec('veo').parseLook(third)).toMatchObject({
      status: 'completed',
      source: 'https://generativelanguage.googleapis.com/v1beta/files/zqw12cp8qc38:download?alt=media',
    })
  })

  it('that shows no object is none', () => {
    for (const protocol of SERVICES.videos.protocols) {
      for (const answer of [[], 'x', null, 1]) {
        expect(() => videoCodec(protocol).parseLook(answer)).toThrow(SyntaxError)
      }
    }
  })
})
