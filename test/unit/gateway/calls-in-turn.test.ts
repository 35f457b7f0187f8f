import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { sendInTurn } from '../../../src/front/gateway/calls-in-turn.ts'
import type { UpstreamCall, UpstreamListener, UpstreamRequest } from '../../../src/front/upstream/upstream-client.ts'
import fc from '../../support/fast-check.ts'

type Play = { readonly status: number; readonly body: string } | { readonly breaks: string }

interface Heard {
  readonly sent: number
  /** Most calls under way at a time. */
  readonly atOnce: number
  readonly status: number | null
  readonly body: string
  readonly ended: boolean
  readonly error: GatewayError | null
  readonly aborted: number
  /** Total timeouts of the calls. */
  readonly totalsMs: readonly number[]
}

/** What each call takes, and all of them may take. */
const CALL_MS = 400
const TOTAL_MS = 1_000

/** Plays the answers one after the other. @param hangUpAfter the listener hangs up when so many calls have been sent */
async function heardOf(plays: readonly Play[], maxBytes = 1_000_000, hangUpAfter = Infinity): Promise<Heard> {
  let sent = 0
  let nowMs = 1_000
  const totalsMs: number[] = []
  let underWay = 0
  let atOnce = 0
  let aborted = 0
  let call: UpstreamCall | null = null
  let status: number | null = null
  let body = ''
  let ended = false
  let error: GatewayError | null = null
  const upstream = {
    send: (sentRequest: UpstreamRequest, hears: UpstreamListener): UpstreamCall => {
      totalsMs.push(sentRequest.timeouts.totalMs)
      nowMs += CALL_MS
      const play = plays[sent++]
      underWay++
      atOnce = Math.max(atOnce, underWay)
      let isOver = false
      queueMicrotask(() => {
        if (sent === hangUpAfter) call?.abort()
        if (isOver || play === undefined) return
        if ('breaks' in play) {
          underWay--
          hears.onHead(200, {})
          hears.onData(Buffer.from(play.breaks))
          hears.onError(new GatewayError('UPSTREAM_TRUNCATED'))
          return
        }
        hears.onHead(play.status, { 'x-of': String(sent) })
        const half = play.body.length >> 1
        for (const piece of [play.body.slice(0, half), play.body.slice(half)]) {
          const bytes = Buffer.from(piece)
          if (!isOver) hears.onData(bytes)
          // Bytes are the listener's until it returns.
          bytes.fill(0)
        }
        underWay--
        if (!isOver) hears.onEnd()
      })
      const nothing = (): void => undefined
      return {
        pause: nothing,
        resume: nothing,
        progressed: nothing,
        abort: () => {
          if (!isOver) aborted++
          isOver = true
        },
      }
    },
    close: () => Promise.resolve(),
  }
  const request = { origin: 'https://x', path: '/', method: 'POST', headers: [], body: null } as const
  const timeouts = { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: TOTAL_MS }
  const listener: UpstreamListener = {
    onHead: (told) => {
      expect(status).toBeNull()
      status = told
    },
    onData: (chunk) => (body += chunk.toString()),
    onEnd: () => {
      expect(ended).toBe(false)
      ended = true
    },
    onError: (cause) => {
      expect(error).toBeNull()
      error = cause
    },
  }
  const requests = plays.map(() => ({ ...request, timeouts }))
  const clock = { now: () => nowMs, monotonicUs: () => nowMs * 1_000 }
  call = sendInTurn({ upstream, requests, clock, maxBytes }, listener)
  for (let turn = 0; turn < plays.length * 2 + 2; turn++) await Promise.resolve()
  return { sent, atOnce, status, body, ended, error, aborted, totalsMs }
}

const good = (value: unknown): Play => ({ status: 200, body: JSON.stringify(value) })

it('is one answer, the array of all, asked for one after the other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { minLength: 2, maxLength: 8 }), async (values) => {
      const { sent, atOnce, status, body, ended } = await heardOf(values.map(good))
      expect({ sent, atOnce, status, ended }).toEqual({ sent: values.length, atOnce: 1, status: 200, ended: true })
      expect(JSON.stringify(JSON.parse(body))).toBe(JSON.stringify(values))
    }),
  )
})

it('has one total timeout for all calls together', async () => {
  const { totalsMs } = await heardOf([1, 2, 3, 4].map(good))
  expect(totalsMs).toEqual([TOTAL_MS, TOTAL_MS - CALL_MS, TOTAL_MS - 2 * CALL_MS, 0])
})

it('is the answer itself where there is one call', async () => {
  expect(await heardOf([good([1])])).toMatchObject({ status: 200, body: '[1]', ended: true })
})

it('is the first refusal, and nothing is asked behind it', async () => {
  const heard = await heardOf([good(1), { status: 429, body: '{"error":"slow"}' }, good(3)])
  expect(heard).toMatchObject({ sent: 2, status: 429, body: '{"error":"slow"}', ended: true, error: null })
})

it('breaks where one of them breaks', async () => {
  const heard = await heardOf([good(1), { breaks: '[1,' }, good(3)])
  expect(heard).toMatchObject({ sent: 2, status: null, body: '', ended: false })
  expect(heard.error?.code).toBe('UPSTREAM_TRUNCATED')
})

it('holds no more than it may', async () => {
  const heard = await heardOf([good('x'.repeat(50)), good('y'.repeat(60)), good(3)], 100)
  expect(heard).toMatchObject({ sent: 2, status: null, body: '', aborted: 1 })
  expect(heard.error?.code).toBe('UPSTREAM_INVALID_ANSWER')
})

it('stops when it is hung up', async () => {
  expect(await heardOf([good(1), good(2), good(3)], 1_000, 2)).toMatchObject({
    sent: 2,
    aborted: 1,
    status: null,
    ended: false,
    error: null,
  })
})
