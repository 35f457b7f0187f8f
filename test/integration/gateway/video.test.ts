import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Video } from '../../../src/shared/endpoints/video.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import type { Behaviour } from '../../../src/simulator/behaviour.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { videoBytes } from '../../../src/simulator/video-jobs.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'

const OTHER_KEY = generateApiKey()
const CREDENTIALS = ['first-credential-1234', 'second-credential-1234']
const PATH = '/v1/video/generations'

let simulator: Simulator
let gateway: TestGateway
let prompts = 0
/** Of the next prompt: a script would be for whatever comes next, also for a look at an earlier job. */
let steering = ''

beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway({
    fronts: 1,
    upstreams: [
      {
        dialect: 'openai-chat',
        baseUrl: `${simulator.origin}/v1`,
        keys: CREDENTIALS.map((credential, index) => ({ id: `key-${index}`, credential })),
        models: ['m', { id: 'alias', upstream_model: 'sora-2' }] as unknown as string[],
      },
    ],
    keys: [{ name: 'other', key: OTHER_KEY }],
    config: {
      video: { poll_first_ms: 50, poll_max_ms: 100, max_wait_ms: 3_000, padding_after_ms: 700, padding_every_ms: 100 },
    },
  })
})

afterAll(async () => {
  await gateway.stop()
  await simulator.close()
})

beforeEach(() => {
  simulator.reset()
})

/** Each its own request, unless a test says otherwise. */
const newPrompt = (): string => {
  const steered = `waves ${++prompts} ${steering}`
  steering = ''
  return steered
}

const post = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(gateway.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'm', prompt: newPrompt(), ...body }),
  })

const get = (id: string, key = gateway.apiKey): Promise<Response> =>
  fetch(`${gateway.url}${PATH}/${id}`, { headers: { authorization: `Bearer ${key}` } })

const steer = (behaviour: Behaviour): void => {
  steering = `[[sim ${JSON.stringify(behaviour)}]]`
}

/** The job that the next request makes. */
const nextJob = (video: Behaviour['video']): void => {
  steer({ video: video ?? {} })
}

const created = () => simulator.stats().videosCreated

interface Answer extends Video {
  data: Array<{ url: string }>
}

describe('a request that waits', () => {
  it('gets a link to its video, whose bytes come without the upstream’s key', async () => {
    nextJob({ pendingPolls: 3, bytes: 300_000 })
    const response = await post({ model: 'alias', size: '1280x720', duration: 8, 'x-more': 1 })
    expect(response.status).toBe(200)
    const answer = (await response.json()) as Answer
    expect([...Compile(Video).Errors(answer)]).toEqual([])
    expect(answer).toMatchObject({ status: 'completed', model: 'alias' })
    const content = await fetch(answer.data[0]?.url ?? '')
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(Buffer.from(await content.arrayBuffer()).equals(videoBytes(300_000))).toBe(true)

    const [creation, ...polls] = simulator.requests()
    expect(JSON.parse(creation?.body ?? '')).toEqual({
      model: 'sora-2',
      prompt: expect.stringContaining(`waves ${prompts} `) as string,
      size: '1280x720',
      seconds: '8',
      'x-more': 1,
    })
    // All of it by the key that began it: the simulator knows a job by its credential alone.
    expect(new Set(polls.map(({ credential }) => credential))).toEqual(new Set([creation?.credential]))
    expect(JSON.stringify(answer)).not.toContain(simulator.origin)
    const row = await gateway.logRow(response.headers.get('x-request-id') ?? '')
    expect(row).toMatchObject({
      endpoint: 'video.generations',
      status: 200,
      attempts: 1,
      settlement: 'exact',
      served_model: 'sora-2',
    })
  })

  it('gets blanks after a while of silence, then the answer', async () => {
    nextJob({ pendingMs: 1_500 })
    const response = await post({})
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(text).toMatch(/^ +\{/)
    expect(JSON.parse(text)).toMatchObject({ status: 'completed' })
  })

  it('gets the error in the body once blanks have left', async () => {
    nextJob({ pendingMs: 1_500, outcome: 'failed' })
    const response = await post({})
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ error: { type: 'service_unavailable', code: 'VIDEO_FAILED' } })
  })

  it.each([
    ['moderated', 400, 'invalid_request', 'VIDEO_REFUSED'],
    ['failed', 503, 'service_unavailable', 'VIDEO_FAILED'],
  ] as const)('is told that its video was %s: %d', async (outcome, status, type, code) => {
    nextJob({ pendingPolls: 1, outcome })
    const response = await post({})
    expect(response.status).toBe(status)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await response.json()).toMatchObject({ error: { type, code } })
    expect(created()).toBe(1)
  })

  it('survives looks that fail', async () => {
    nextJob({})
    simulator.script([
      {},
      { status: 500 },
      { status: 429, retryAfter: 0.1 },
      { fault: 'reset-before-headers' },
      { fault: 'truncated-json' },
    ])
    const response = await post({})
    expect(await response.json()).toMatchObject({ status: 'completed' })
    expect(simulator.requests().length).toBeGreaterThanOrEqual(6)
  })

  it('is told the id of a job that takes too long, and finds it there', async () => {
    nextJob({ pendingMs: 4_000 })
    const text = await (await post({})).text()
    const { error } = JSON.parse(text) as { error: { message: string; code: string } }
    expect(error.code).toBe('VIDEO_NOT_READY')
    const id = /video_[\w-]+/.exec(error.message)?.[0] ?? ''
    await eventually(async () => {
      expect(await (await get(id)).json()).toMatchObject({ id, status: 'completed' })
    })
  })
})

describe('a request that does not', () => {
  it('gets an id at once, and the video by asking', async () => {
    nextJob({ pendingPolls: 1 })
    const answer = (await (await post({ async: true })).json()) as Answer
    expect(answer).toMatchObject({ status: 'queued' })
    expect(answer.data).toBeUndefined()
    expect(await (await get(answer.id)).json()).toMatchObject({ id: answer.id, status: 'in_progress', progress: 40 })
    const done = (await (await get(answer.id)).json()) as Answer
    expect(done).toMatchObject({ status: 'completed' })
    expect((await fetch(done.data[0]?.url ?? '')).status).toBe(200)
    expect(simulator.requests()[0]?.body).not.toContain('async')
  })

  it('is told why a job has failed', async () => {
    nextJob({ outcome: 'moderated' })
    const { id } = (await (await post({ async: true })).json()) as Answer
    expect(await (await get(id)).json()).toMatchObject({
      status: 'failed',
      error: {
        type: 'invalid_request',
        code: 'VIDEO_REFUSED',
        message: 'Your request was blocked by our moderation system.',
      },
    })
  })

  it('keeps the job from the keys of others', async () => {
    const { id } = (await (await post({ async: true })).json()) as Answer
    for (const [asked, key] of [
      [id, OTHER_KEY],
      [`${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`, gateway.apiKey],
      ['video_123', gateway.apiKey],
    ] as const) {
      const response = await get(asked, key)
      expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'VIDEO_NOT_FOUND' } }])
    }
    expect((await get(id, 'sk-nobody')).status).toBe(401)
  })
})

describe('a link', () => {
  const linkOf = async (video: Behaviour['video']): Promise<URL> => {
    nextJob(video)
    const { data } = (await (await post({})).json()) as Answer
    return new URL(data[0]?.url ?? '')
  }

  it('is good for its video and its time alone', async () => {
    const link = await linkOf({})
    const other = await linkOf({})
    for (const [name, value] of [
      ['expires', String(Number(link.searchParams.get('expires')) + 1)],
      ['signature', other.searchParams.get('signature') ?? ''],
      ['signature', ''],
    ] as const) {
      const bent = new URL(link)
      bent.searchParams.set(name, value)
      expect((await fetch(bent)).status).toBe(404)
    }
    expect((await fetch(new URL(link.pathname, link))).status).toBe(404)
    expect(gateway.output).not.toContain('a handler failed')
    expect((await fetch(link)).status).toBe(200)
    expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
  })

  it('leads nowhere once the provider has thrown the video away', async () => {
    const response = await fetch(await linkOf({ expired: true }))
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'VIDEO_NOT_FOUND' } }])
  })

  it('does not pass off half a video as a whole one', async () => {
    const link = await linkOf({ bytes: 500_000 })
    simulator.script([{ fault: 'reset-mid-stream' }])
    await expect(fetch(link).then((response) => response.arrayBuffer())).rejects.toThrow()
  })
})

describe('a job', () => {
  it('is begun once, however often the same request comes: same body, or same Idempotency-Key', async () => {
    const body = { prompt: newPrompt(), async: true }
    const ids = new Set<string>()
    for (let i = 0; i < 6; i++) ids.add(((await (await post(body)).json()) as Answer).id)
    expect(ids.size).toBe(1)
    const named = { 'idempotency-key': 'mine' }
    const [one, two] = [await post({ async: true }, named), await post({ async: true }, named)]
    expect(((await one.json()) as Answer).id).toBe(((await two.json()) as Answer).id)
    expect(created()).toBe(2)
  })

  it('stays to be found by a client that left before its answer', async () => {
    nextJob({ pendingMs: 600 })
    const body = JSON.stringify({ model: 'm', prompt: newPrompt() })
    const leaving = new AbortController()
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body,
    }
    const gone = fetch(gateway.url + PATH, { ...init, signal: leaving.signal }).catch(() => null)
    await eventually(() => {
      expect(created()).toBe(1)
    })
    leaving.abort()
    await gone
    expect(await (await fetch(gateway.url + PATH, init)).json()).toMatchObject({ status: 'completed' })
    expect(created()).toBe(1)
  })

  it('is not begun a second time when the provider’s answer is lost', async () => {
    for (const fault of ['reset-before-headers', 'reset-mid-stream', 'truncated-json'] as const) {
      simulator.reset()
      steer({ fault })
      const body = { prompt: newPrompt() }
      for (let i = 0; i < 2; i++) {
        const response = await post(body)
        expect(response.status).toBe(503)
        expect(response.headers.get('x-should-retry')).toBe('false')
        expect(await response.json()).toMatchObject({ error: { code: 'VIDEO_CREATION_UNKNOWN' } })
      }
      expect(created()).toBe(1)
    }
  })

  it('is begun by another key when the first one refuses', async () => {
    simulator.configureKey(CREDENTIALS[0] ?? '', { status: 503 })
    for (let i = 1; i <= 4; i++) {
      expect(await (await post({})).json()).toMatchObject({ status: 'completed' })
      expect(created()).toBe(i)
    }
  })

  it.each([
    [{ prompt: '' }, '/prompt', 'prompt must not be empty.'],
    [{ size: 'wide' }, '/size', 'size must look like 1280x720.'],
    [{ duration: 2.5 }, '/duration', 'duration must be a whole number.'],
    [{ duration: 0 }, '/duration', undefined],
    [{ async: 'yes' }, '/async', undefined],
  ])('is not begun by %j', async (body, param, message) => {
    const response = await post(body)
    const error = { param, ...(message === undefined ? {} : { message }) }
    expect([response.status, await response.json()]).toMatchObject([400, { error }])
    expect(simulator.stats().started).toBe(0)
  })

  it('is not begun when the provider refuses the request, and says why', async () => {
    const body = { duration: 5, prompt: newPrompt() }
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toContain("Supported values are: '4', '8', '12'")
    expect((await post({ ...body, duration: 4 })).status).toBe(200)
    expect(created()).toBe(1)
  })
})
