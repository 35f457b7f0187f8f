import { beforeEach, describe, expect, it } from 'vitest'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { ErrorCode } from '../../../src/shared/core/errors.ts'
import type { ClaimMessage } from '../../../src/shared/core/job-claim.ts'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import { creationError, mayHaveBegun } from '../../../src/front/videos/creation-error.ts'
import { publicBaseUrl } from '../../../src/front/videos/base-url.ts'
import { LocalJobBook } from '../../../src/front/videos/job-book.ts'
import type { Look } from '../../../src/front/videos/job-reader.ts'
import { JobSeal, mayRead } from '../../../src/front/videos/job-seal.ts'
import type { VideoJob } from '../../../src/front/videos/job-seal.ts'
import { JobWatch } from '../../../src/front/videos/job-watch.ts'
import type { Ending } from '../../../src/front/videos/job-watch.ts'
import { SharedJobBook } from '../../../src/front/videos/shared-job-book.ts'
import { VideoContent } from '../../../src/front/videos/video-content.ts'
import { WaitingClient } from '../../../src/front/videos/waiting-client.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { makeContext } from './context.ts'
import fc from '../../support/fast-check.ts'

const JOB: VideoJob = {
  providerId: 'p',
  upstreamKeyId: 'k',
  vendorId: 'video_1',
  protocol: 'openai-videos',
  model: 'm',
  created: 1_700_000_000,
  keyId: 'key-1',
  userId: null,
  enterpriseId: null,
}

let nowMs = 0
let deadlines: DeadlineClock

beforeEach(() => {
  nowMs = 1_000_000
  deadlines = new DeadlineClock({ now: () => nowMs, monotonicUs: () => nowMs * 1000 })
})

/** Lets time pass, a tick at a time, and everything that waits for promises run. */
async function pass(ms: number, tickMs = 10): Promise<void> {
  for (const endMs = nowMs + ms; nowMs < endMs; nowMs += tickMs) {
    deadlines.tick()
    await Promise.resolve()
    await Promise.resolve()
  }
}

describe('the content of a video', () => {
  const seal = new JobSeal(Buffer.alloc(32, 1))
  const id = seal.seal(JOB)

  /** The codes of the refusals of requests that come one after the other, and are never over. */
  function refusalsOf(...queries: readonly string[]): ErrorCode[] {
    const nothing = (): void => undefined
    const call = { pause: nothing, resume: nothing, progressed: nothing, abort: nothing }
    const clock = { now: () => nowMs, monotonicUs: () => nowMs * 1000 }
    const content = new VideoContent({ clock, seal, reader: { fetch: () => call }, maxStreams: 2 })
    const codes: ErrorCode[] = []
    for (const query of queries) {
      const exchange = new FakeExchange({ path: `/v1/video/generations/${id}/content`, query })
      content.serve(exchange, ({ code }) => codes.push(code))
    }
    return codes
  }

  const linkUntil = (expires: number): string => `expires=${expires}&signature=${seal.sign(id, expires)}`

  it('is refused without a good link, and such a refusal is no fault', () => {
    const good = linkUntil(2_000)
    expect(refusalsOf('', linkUntil(999), good.replace('2000', '2001'), good)).toEqual([
      'VIDEO_NOT_FOUND',
      'VIDEO_NOT_FOUND',
      'VIDEO_NOT_FOUND',
    ])
  })

  it('is refused above the most concurrent streams', () => {
    const good = linkUntil(2_000)
    expect(refusalsOf(good, good, good)).toEqual(['GATEWAY_OVERLOADED'])
  })
})

describe('a job id', () => {
  const seal = new JobSeal(Buffer.alloc(32, 1))

  it('opens to the job that was sealed in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.option(fc.string()), (vendorId, model, userId) => {
        const job = { ...JOB, vendorId, model, userId }
        expect(seal.open(seal.seal(job))).toEqual(job)
      }),
    )
  })

  it('opens for nobody who has changed a character, made it up, or has another secret', () => {
    const id = seal.seal(JOB)
    expect(new JobSeal(Buffer.alloc(32, 2)).open(id)).toBeNull()
    for (const bad of ['', 'video_', 'video_AAAA', id.slice(6), `${id}AAAA`]) expect(seal.open(bad)).toBeNull()
    fc.assert(
      fc.property(fc.nat({ max: id.length - 7 }), fc.constantFrom(...'AZaz09-_'), (at, character) => {
        const bent = `${id.slice(0, 6 + at)}${character}${id.slice(7 + at)}`
        // The last character may hold bits that mean nothing.
        const opened = seal.open(bent)
        expect(opened === null || at === id.length - 7 || bent === id).toBe(true)
      }),
    )
  })

  it('does not show what is in it', () => {
    expect(Buffer.from(seal.seal(JOB).slice(6), 'base64url').toString('latin1')).not.toContain('video_1')
  })
})

it('lets a job be read by the key that began it, and by others of its user or enterprise', () => {
  const reads = (key: object, job: object): boolean => mayRead({ key } as never, { ...JOB, ...job })
  const stranger = { id: 'key-2', userId: 'u2', enterpriseId: 'e2' }
  expect(reads({ ...stranger, id: 'key-1' }, {})).toBe(true)
  expect(reads(stranger, { userId: 'u2' })).toBe(true)
  expect(reads(stranger, { enterpriseId: 'e2' })).toBe(true)
  expect(reads(stranger, { userId: 'u1', enterpriseId: 'e1' })).toBe(false)
  expect(reads({ id: 'key-2', userId: null, enterpriseId: null }, {})).toBe(false)
})

describe('the watch over jobs', () => {
  const seen = (status: 'queued' | 'completed'): Look => ({
    kind: 'seen',
    state: { status, progress: null, error: null },
    source: null,
  })
  const unseen = (code: ErrorCode, retryAfterSeconds?: number): Look => ({
    kind: 'unseen',
    error: new GatewayError(code, retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })

  function watching(looks: Look[]): { watch: JobWatch; at: number[]; endings: Ending[]; over: string[] } {
    const at: number[] = []
    const endings: Ending[] = []
    const over: string[] = []
    const startMs = nowMs
    const watch = new JobWatch({
      reader: {
        look: () => {
          at.push(nowMs - startMs)
          return Promise.resolve(looks.shift() ?? seen('queued'))
        },
      },
      deadlines,
      random: () => 0.5,
      firstMs: 2_000,
      maxMs: 10_000,
      giveUpMs: 60_000,
      onOver: (id) => over.push(id),
    })
    watch.watch('id', JOB, (ending) => endings.push(ending))
    return { watch, at, endings, over }
  }

  it('looks at growing intervals until the job is over, and tells it once', async () => {
    const { at, endings, over, watch } = watching([seen('queued'), seen('queued'), seen('queued'), seen('completed')])
    await pass(60_000)
    expect(at).toEqual([2_000, 5_000, 9_500, 16_250])
    expect(endings).toMatchObject([{ state: { status: 'completed' } }])
    expect(over).toEqual(['id'])
    expect(watch.count).toBe(0)
  })

  it('looks once, however many wait', async () => {
    const { at, watch, endings } = watching([seen('completed')])
    for (let i = 0; i < 5; i++) watch.watch('id', JOB, (ending) => endings.push(ending))
    await pass(5_000)
    expect([at.length, endings.length]).toEqual([1, 6])
  })

  it('goes on when looks fail, and comes back when it is told to', async () => {
    const { at, endings } = watching([unseen('UPSTREAM_ERROR'), unseen('UPSTREAM_RATE_LIMITED', 20), seen('completed')])
    await pass(60_000)
    expect(at).toEqual([2_000, 5_000, 25_000])
    expect(endings).toMatchObject([{ state: { status: 'completed' } }])
  })

  it('takes a job for failed that is not known any more', async () => {
    const { at, endings } = watching(Array.from({ length: 9 }, () => unseen('UPSTREAM_NOT_FOUND')))
    await pass(60_000)
    expect(at).toHaveLength(5)
    expect(endings).toMatchObject([{ state: { status: 'failed', error: { code: 'VIDEO_FAILED' } } }])
  })

  it('gives up in the end, and when it is stopped', async () => {
    const { endings, watch } = watching([])
    await pass(61_000)
    expect(endings).toEqual([{ state: null, error: null }])
    expect(watch.count).toBe(0)
    const other = watching([])
    other.watch.stop()
    await pass(5_000)
    expect(other.at).toEqual([])
  })
})

describe('a waiting client', () => {
  const HEADERS = [['Content-Type', 'application/json']] as const

  function waiting(): { exchange: FakeExchange; client: WaitingClient } {
    const exchange = new FakeExchange({ method: 'POST' })
    const options = { deadlines, afterMs: 1_000, everyMs: 500 }
    return { exchange, client: new WaitingClient(exchange.response, () => HEADERS, options) }
  }

  it('gets a plain answer when it comes soon', async () => {
    const { exchange, client } = waiting()
    await pass(900)
    client.answer(503, HEADERS, '{}')
    await pass(2_000)
    expect([exchange.response.status, exchange.response.body.toString()]).toEqual([503, '{}'])
  })

  it('gets blanks when it does not, then the answer, and nothing after it', async () => {
    const { exchange, client } = waiting()
    await pass(2_200)
    client.answer(503, HEADERS, '{"error":1}')
    await pass(2_000)
    expect([exchange.response.status, exchange.response.body.toString()]).toEqual([200, '   {"error":1}'])
    expect(exchange.response.ended).toBe(true)
  })

  it('gets no more blanks than it takes', async () => {
    const { exchange } = waiting()
    exchange.response.accepts = false
    await pass(5_000)
    expect(exchange.response.writes).toHaveLength(1)
  })
})

it.each([
  ['UPSTREAM_TIMEOUT', 0, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_TRUNCATED', 0, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_TRUNCATED', 200, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_INVALID_ANSWER', 200, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_TIMEOUT', 504, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_ERROR', 502, 'VIDEO_CREATION_UNKNOWN'],
  ['UPSTREAM_UNREACHABLE', 0, 'UPSTREAM_UNREACHABLE'],
  ['UPSTREAM_OVERLOADED', 503, 'UPSTREAM_OVERLOADED'],
  ['UPSTREAM_AUTH', 401, 'UPSTREAM_AUTH'],
  ['UPSTREAM_INVALID_REQUEST', 400, 'UPSTREAM_INVALID_REQUEST'],
] as const)('after %s with status %d the creation of a job is %s', (code, status, expected) => {
  const { ctx } = makeContext(ENDPOINTS.video)
  ctx.attempts.push({
    providerId: 'p',
    upstreamKeyId: 'k',
    model: 'm',
    choice: null,
    dropped: [],
    status,
    outcome: code,
    startUs: 0,
    durationUs: 0,
  })
  expect(creationError(ctx, new GatewayError(code)).code).toBe(expected)
  expect(mayHaveBegun(ctx)).toBe(expected === 'VIDEO_CREATION_UNKNOWN')
})

it('remembers a claim for its time', async () => {
  const book = new LocalJobBook(() => nowMs)
  const request = { owner: 'a', fingerprint: 'f', untilMs: nowMs + 100 }
  expect(await book.claim(request)).toEqual({ kind: 'new' })
  expect(await book.claim(request)).toEqual({ kind: 'busy' })
  expect(await book.claim({ ...request, owner: 'b' })).toEqual({ kind: 'new' })
  await book.begun(request, 'id')
  expect(await book.claim(request)).toEqual({ kind: 'job', id: 'id' })
  nowMs += 100
  expect(await book.claim({ ...request, untilMs: nowMs + 100 })).toEqual({ kind: 'new' })
  book.release(request)
  expect(await book.claim({ ...request, untilMs: nowMs + 100 })).toEqual({ kind: 'new' })
  book.doubt({ ...request, untilMs: nowMs + 100 })
  expect(await book.claim(request)).toEqual({ kind: 'unknown' })
})

it('knows where clients reach the gateway', () => {
  const request = (host: string) => new FakeExchange({ method: 'POST', headers: { host } }).request
  expect(publicBaseUrl('https://ai.example.com/v1/', 'http', request('x'))).toBe('https://ai.example.com')
  expect(publicBaseUrl(null, 'https', request('gateway:8787'))).toBe('https://gateway:8787')
  expect(publicBaseUrl(null, 'http', request('a/b"c'))).toBe('')
})

describe('the book of all fronts', () => {
  const request = { owner: 'a', fingerprint: 'f', untilMs: Infinity }

  function book(answers: boolean): { shared: SharedJobBook; sent: ClaimMessage[] } {
    const sent: ClaimMessage[] = []
    const shared = new SharedJobBook({
      local: new LocalJobBook(() => nowMs),
      deadlines,
      send: (message) => {
        sent.push(message)
        return answers
      },
      patienceMs: 1_000,
    })
    return { shared, sent }
  }

  it('asks once for all who want the same, and gives the job to one', async () => {
    const { shared, sent } = book(true)
    const claims = [shared.claim(request), shared.claim(request), shared.claim(request)]
    await pass(20)
    expect(sent.map(({ action }) => action)).toEqual(['claim'])
    shared.receive({ type: 'job-claim-reply', question: sent[0]?.question ?? 0, claim: { kind: 'new' } })
    expect((await Promise.all(claims)).map(({ kind }) => kind)).toEqual(['new', 'busy', 'busy'])
  })

  it('tells all of them of the job that another front has begun', async () => {
    const { shared, sent } = book(true)
    const claims = [shared.claim(request), shared.claim(request)]
    await pass(20)
    shared.receive({ type: 'job-claim-reply', question: sent[0]?.question ?? 0, claim: { kind: 'job', id: 'j' } })
    expect(await Promise.all(claims)).toEqual([
      { kind: 'job', id: 'j' },
      { kind: 'job', id: 'j' },
    ])
  })

  it.each([
    ['does not answer', true],
    ['is away', false],
  ])('goes by what the front knows when the control process %s', async (_, answers) => {
    const { shared } = book(answers)
    const claim = shared.claim(request)
    await pass(1_100)
    expect(await claim).toEqual({ kind: 'new' })
    const begun = shared.begun(request, 'j')
    await pass(1_100)
    await begun
    expect(await shared.claim(request)).toEqual({ kind: 'job', id: 'j' })
  })

  it('does not wait for a connection that is gone', async () => {
    const { shared } = book(true)
    const claim = shared.claim(request)
    await pass(20)
    shared.lost()
    expect(await claim).toEqual({ kind: 'new' })
  })
})
