import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Video } from '../../../src/shared/endpoints/video.ts'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { videoBytes } from '../../../src/simulator/video-jobs.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { serviceHosts } from '../../support/service-hosts.ts'

const PATH = '/v1/video/generations'
const MODELS = ['veo-m', 'xai-m', 'qwen-m', 'ark-m'] as const

let simulator: Simulator
let gateway: TestGateway
let prompts = 0

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    upstreams: serviceHosts(simulator),
    config: { video: { poll_first_ms: 50, poll_max_ms: 100, max_wait_ms: 10_000 } },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

beforeEach(() => {
  simulator.reset()
})

const headers = (): Record<string, string> => ({
  authorization: `Bearer ${gateway.apiKey}`,
  'content-type': 'application/json',
})

/** Each its own request, with a job that goes like this. */
const post = (body: object, video: Behaviour['video'] = {}): Promise<Response> => {
  const prompt = `waves ${++prompts} [[sim ${JSON.stringify({ video })}]]`
  return fetch(gateway.url + PATH, { method: 'POST', headers: headers(), body: JSON.stringify({ prompt, ...body }) })
}

const get = (id: string): Promise<Response> => fetch(`${gateway.url}${PATH}/${id}`, { headers: headers() })

interface Answer extends Video {
  data: Array<{ url: string }>
}

describe('a video of another dialect', () => {
  it.each(MODELS)('of %s: a request waits for it, and gets a link that needs no key of the provider', async (model) => {
    const response = await post({ model }, { pendingPolls: 2, bytes: 300_000 })
    expect(response.status).toBe(200)
    const answer = (await response.json()) as Answer
    expect([...Compile(Video).Errors(answer)]).toEqual([])
    expect(answer).toMatchObject({ status: 'completed', model })
    expect(JSON.stringify(answer)).not.toContain(simulator.origin)
    const content = await fetch(answer.data[0]?.url ?? '')
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(Buffer.from(await content.arrayBuffer()).equals(videoBytes(300_000))).toBe(true)
    expect(simulator.stats().videosCreated).toBe(1)
    const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({ endpoint: 'video.generations', status: 200, attempts: 1, served_model: model })
  })

  it.each(MODELS)('of %s: a request that does not wait asks later', async (model) => {
    const response = await post({ model, async: true }, { pendingPolls: 1 })
    const { id, status } = (await response.json()) as Answer
    expect(status).toBe('queued')
    expect(await (await get(id)).json()).toMatchObject({
      id,
      status: expect.stringMatching(/queued|in_progress/) as string,
    })
    const done = await eventually(async () => {
      const seen = (await (await get(id)).json()) as Answer
      expect(seen.status).toBe('completed')
      return seen
    })
    expect((await fetch(done.data[0]?.url ?? '')).status).toBe(200)
  })

  it.each(MODELS)('of %s: what it refuses is the request’s fault, what fails is not', async (model) => {
    const refused = await post({ model }, { outcome: 'moderated' })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: 'VIDEO_REFUSED' } }])
    const failed = await post({ model }, { outcome: 'failed' })
    expect([failed.status, await failed.json()]).toMatchObject([503, { error: { code: 'VIDEO_FAILED' } }])
  })

  it.each([
    ['veo-m', { parameters: { aspectRatio: '16:9', resolution: '720p', durationSeconds: 8 } }],
    ['xai-m', { aspect_ratio: '16:9', resolution: '720p', duration: 8 }],
    ['qwen-m', { model: 'qwen-m', parameters: { size: '1280*720', duration: 8 } }],
    ['ark-m', { model: 'ark-m', ratio: '16:9', resolution: '720p', duration: 8 }],
  ])('of %s is asked for in its words', async (model, body) => {
    const response = await post({ model, size: '1280x720', duration: 8, async: true })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-sluice-dropped')).toBeNull()
    const [creation] = simulator.requests()
    expect(JSON.parse(String(creation?.body))).toMatchObject(body)
    if (model === 'qwen-m') expect(creation?.headers['x-dashscope-async']).toBe('enable')
    if (model === 'veo-m') expect(creation?.headers['x-goog-api-key']).toBe('gemini-credential-1234')
  })

  it.each(['veo-m', 'qwen-m', 'ark-m'])('of %s cannot begin with a picture, and nothing is begun', async (model) => {
    const response = await post({ model, input_reference: 'https://pictures.test/a.png' })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'UNSUPPORTED_FIELD', param: '/input_reference' } },
    ])
    expect(simulator.stats().started).toBe(0)
  })

  it('is begun once for the same request, whatever it is made by', async () => {
    const body = { model: 'veo-m', prompt: 'one and the same', async: true }
    const [first, second] = [await post(body), await post(body)]
    expect(((await first.json()) as Answer).id).toBe(((await second.json()) as Answer).id)
    expect(simulator.stats().videosCreated).toBe(1)
  })

  it('that the provider will not begin is an error of the request', async () => {
    const response = await post({ model: 'veo-m', duration: 5 })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'UPSTREAM_INVALID_REQUEST', message: expect.stringContaining('durationSeconds') as string } },
    ])
  })
})
