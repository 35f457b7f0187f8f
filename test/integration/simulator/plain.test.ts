import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { videoBytes } from '../../../src/simulator/video-jobs.ts'

let simulator: Simulator

beforeEach(async () => {
  simulator = await startSimulator()
})

afterEach(() => simulator.close())

const call = (path: string, body?: object, credential = 'k'): Promise<Response> =>
  fetch(`${simulator.origin}/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

async function json<T>(path: string, body?: object, credential?: string): Promise<T> {
  return (await (await call(path, body, credential)).json()) as T
}

interface Vectors {
  data: Array<{ index: number; embedding: number[] | string }>
  usage: { prompt_tokens: number }
}

describe('embeddings', () => {
  it('are the same for the same text, of unit length, as numbers or base64', async () => {
    const input = ['one', 'two', 'one']
    const floats = (await json<Vectors>('embeddings', { model: 'm', input, dimensions: 5 })).data
    expect(floats[0]?.embedding).toEqual(floats[2]?.embedding)
    expect(floats[0]?.embedding).not.toEqual(floats[1]?.embedding)
    expect(Math.hypot(...(floats[0]?.embedding as number[]))).toBeCloseTo(1, 6)
    const encoded = await json<Vectors>('embeddings', { model: 'm', input, dimensions: 5, encoding_format: 'base64' })
    const bytes = Buffer.from(encoded.data[1]?.embedding as string, 'base64')
    expect([0, 1, 2, 3, 4].map((i) => bytes.readFloatLE(i * 4))).toEqual(floats[1]?.embedding)
  })

  it('book their prompt, of words or of tokens', async () => {
    await json('embeddings', { model: 'm', input: 'three little words' })
    expect((await json<Vectors>('embeddings', { model: 'm', input: [[1, 2], [3]] })).usage.prompt_tokens).toBe(3)
    expect(simulator.stats()).toMatchObject({ promptTokens: 6, completionTokens: 0, ok: 2 })
  })

  it('come in the encoding that the behaviour says', async () => {
    simulator.setDefaults({ vectors: 'float' })
    const { data } = await json<Vectors>('embeddings', { model: 'm', input: 'a', encoding_format: 'base64' })
    expect(Array.isArray(data[0]?.embedding)).toBe(true)
  })
})

it('ranks documents by the words of the query that they have', async () => {
  const body = { model: 'm', query: 'red apples', documents: ['blue sky', 'red sky', 'red apples'], top_n: 2 }
  expect(await json('rerank', body)).toMatchObject({
    results: [
      { index: 2, relevance_score: 1 },
      { index: 1, relevance_score: 0.5 },
    ],
    usage: { prompt_tokens: 8 },
  })
})

it('draws pictures, as bytes or as URLs, and books them', async () => {
  const drawn = await json<{ data: Array<{ b64_json: string }> }>('images/generations', {
    model: 'm',
    prompt: 'a cat',
    n: 2,
  })
  expect(drawn.data).toHaveLength(2)
  expect(Buffer.from(drawn.data[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).toBe('PNG')
  expect(await json('images/generations', { model: 'm', prompt: 'a cat', response_format: 'url' })).toMatchObject({
    data: [{ url: expect.stringContaining('https://') as string }],
  })
  expect(simulator.stats()).toMatchObject({ promptTokens: 4, completionTokens: 3 * 272 })
})

describe('videos', () => {
  it('are under way for as many looks as the behaviour says, then done, with bytes to fetch', async () => {
    simulator.script([{ video: { pendingPolls: 2, bytes: 3_000 } }])
    const { id, status } = await json<{ id: string; status: string }>('videos', { model: 'm', prompt: 'waves' })
    expect(status).toBe('queued')
    expect((await call(`videos/${id}/content`)).status).toBe(404)
    const seen: string[] = []
    for (let i = 0; i < 3; i++) seen.push((await json<{ status: string }>(`videos/${id}`)).status)
    expect(seen).toEqual(['in_progress', 'in_progress', 'completed'])
    const content = await call(`videos/${id}/content`)
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(Buffer.from(await content.arrayBuffer()).equals(videoBytes(3_000))).toBe(true)
    expect(simulator.stats().videosCreated).toBe(1)
  })

  it('fail, and are moderated, with the provider’s reasons', async () => {
    for (const [outcome, code] of [
      ['failed', 'video_generation_failed'],
      ['moderated', 'moderation_blocked'],
    ] as const) {
      const prompt = `waves [[sim ${JSON.stringify({ video: { outcome } })}]]`
      const { id } = await json<{ id: string }>('videos', { model: 'm', prompt })
      expect(await json(`videos/${id}`)).toMatchObject({ status: 'failed', error: { code } })
    }
  })

  it('are not known to another credential, and not made by a request that fails', async () => {
    const { id } = await json<{ id: string }>('videos', { model: 'm', prompt: 'waves' })
    expect((await call(`videos/${id}`, undefined, 'other')).status).toBe(404)
    expect((await call('videos', { model: 'm', prompt: 'waves', seconds: '5' })).status).toBe(400)
    simulator.script([{ status: 503 }])
    expect((await call('videos', { model: 'm', prompt: 'waves' })).status).toBe(503)
    expect(simulator.stats().videosCreated).toBe(1)
  })

  it('can be gone by the time they are done', async () => {
    simulator.script([{ video: { expired: true } }])
    const { id } = await json<{ id: string }>('videos', { model: 'm', prompt: 'waves' })
    expect((await json<{ status: string }>(`videos/${id}`)).status).toBe('completed')
    expect((await call(`videos/${id}/content`)).status).toBe(404)
  })
})
