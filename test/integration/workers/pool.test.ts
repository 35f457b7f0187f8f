import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { DialectName } from '../../../src/shared/core/endpoint.ts'
import { clientCodec, dialectOf } from '../../../src/dialects/codecs.ts'
import { countPrompt } from '../../../src/front/tokens/count-prompt.ts'
import { countTextTokens } from '../../../src/front/tokens/tokenizer.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import type { WorkerPool } from '../../../src/front/workers/pool.ts'
import { builtModule } from '../../support/built-module.ts'

const NO_REQUEST = { expected: null, estimatedPromptTokens: 0 }
const LIMITS = { maxDepth: 64, maxElements: 1_000_000 }

// Worker threads run plain JavaScript, and the pool looks for its worker beside itself.
let Pool: typeof WorkerPool
/** For tests that leave it as it is. */
let pool: WorkerPool
const open: WorkerPool[] = []

beforeAll(async () => {
  ;({ WorkerPool: Pool } = (await import(builtModule('front/workers/pool').href)) as {
    WorkerPool: typeof WorkerPool
  })
  pool = newPool()
}, 120_000)

afterAll(() => pool.close())

afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()))
})

it('checks a body as the validator does, and hands its very bytes back', async () => {
  const validator = createValidator(LIMITS)
  for (const size of [0, 1, 100, 5_000, 1_000_000]) {
    const bytes = chatBody(size)
    const copy = Buffer.from(bytes)
    const { bytes: handedBack, ...checked } = await pool.checkBody('chat.completions', bytes)
    expect(handedBack.equals(copy)).toBe(true)
    const { bytes: _bytes, ...expected } = validator.validate('chat.completions', copy)
    expect(checked).toEqual(expected)
  }
})

it('takes no bytes with it that belong to others', async () => {
  // Small buffers of Node share their memory; a slice shares that of the whole.
  const whole = Buffer.concat([Buffer.alloc(100, 1), chatBody(10), Buffer.alloc(100, 2)])
  const neighbours = Array.from({ length: 20 }, () => Buffer.from('neighbour'))
  await pool.checkBody('chat.completions', whole.subarray(100, whole.length - 100))
  await pool.checkBody('chat.completions', Buffer.from(chatBody(10)))
  expect(whole.subarray(0, 100).equals(Buffer.alloc(100, 1))).toBe(true)
  expect(whole.subarray(-100).equals(Buffer.alloc(100, 2))).toBe(true)
  for (const neighbour of neighbours) expect(neighbour.toString()).toBe('neighbour')
})

it('refuses a body as the validator does, with code, text and field', async () => {
  const validator = createValidator(LIMITS)
  for (const text of [
    '{',
    '{"model":1,"messages":[]}',
    `{"model":"m","x":${'['.repeat(70)}`,
    '{"model":"m","model":"n"}',
  ]) {
    let expected: unknown
    try {
      validator.validate('chat.completions', Buffer.from(text))
    } catch (error) {
      expected = error
    }
    const { code, message, param } = expected as { code: string; message: string; param: string | null }
    await expect(pool.checkBody('chat.completions', Buffer.from(text))).rejects.toMatchObject({ code, message, param })
  }
})

it('reads an answer as the dialect does, and leaves its bytes alone', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const message = { role: 'assistant', content: randomBytes(20_000).toString('hex') }
  const bytes = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
  const copy = Buffer.from(bytes)
  expect(await pool.readAnswer('openai-chat', NO_REQUEST, bytes)).toEqual(
    dialectOf('openai-chat').readAnswer(copy, NO_REQUEST),
  )
  expect(bytes.equals(copy)).toBe(true)
})

it('counts prompts and answers as their code does inline, and leaves their bytes alone', async () => {
  const prompt = chatBody(2_000)
  const message = { role: 'assistant', content: 'The quick brown fox jumps over the lazy dog.' }
  const answer = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  const copies = [Buffer.from(prompt), Buffer.from(answer)]
  const conversation = clientCodec('openai-chat').parseRequest(JSON.parse(prompt.toString()))
  expect(await pool.countPrompt(prompt, 'openai-chat', 'gpt-4o')).toBe(
    countPrompt(conversation, 'gpt-4o', countTextTokens),
  )
  expect(await pool.countAnswer(answer, 'openai-chat', 'gpt-4o')).toBe(11)
  expect([prompt, answer]).toEqual(copies)
  expect(pool.idle).toBe(true)
})

it('says of an answer that is no JSON that the upstream is to blame', async () => {
  await expect(pool.readAnswer('openai-chat', NO_REQUEST, Buffer.from('<html>'))).rejects.toMatchObject({
    code: 'UPSTREAM_INVALID_ANSWER',
  })
})

it('fails the one task whose worker failed, telling nothing of it, and goes on', async () => {
  const own = ownPool()
  const broken = own.readAnswer('no-dialect' as DialectName, NO_REQUEST, Buffer.from('{}'))
  await expect(broken).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'Internal error.',
    detail: 'a worker failed',
  })
  expect((await own.checkBody('chat.completions', chatBody(10))).model).toBe('m')
})

it('refuses what has no room in the queue, with 503 and a time to come back, and finishes the rest', async () => {
  const small = ownPool({ threads: 1, maxQueue: 2 })
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => small.checkBody('chat.completions', chatBody(500_000))),
  )
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(refused.length).toBeGreaterThanOrEqual(15)
  expect(refused.length).toBeLessThan(20)
  for (const error of refused) {
    expect(error).toMatchObject({ code: 'WORKERS_BUSY', status: 503 })
    expect((error as { retryAfterSeconds: number }).retryAfterSeconds).toBeGreaterThanOrEqual(1)
  }
  for (const result of results) {
    if (result.status === 'fulfilled') expect(result.value.bytes.equals(chatBody(500_000))).toBe(true)
  }
})

/** Closed when the test is over. */
function ownPool(options: { threads?: number; maxQueue?: number } = {}): WorkerPool {
  const own = newPool(options)
  open.push(own)
  return own
}

function newPool(options: { threads?: number; maxQueue?: number } = {}): WorkerPool {
  return new Pool({ threads: 2, maxQueue: 16, ...options, bodyLimits: LIMITS })
}

function chatBody(size: number): Buffer {
  return Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'é'.repeat(size) }] }))
}
