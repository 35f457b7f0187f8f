import { beforeEach, describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import type { RequestContext } from '../../../src/shared/core/request-context.ts'
import { dialectOf } from '../../../src/dialects/codecs.ts'
import { StreamRelay } from '../../../src/front/gateway/stream-relay.ts'
import type { FakeExchange } from '../../support/fake-exchange.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'
import { BODY, makeContext } from './context.ts'
import { RecordingControl } from './recording-control.ts'

const COMMENT = ': processing\n\n'
const USAGE = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } })
const FINISH = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const DONE = 'data: [DONE]\n\n'
const ERROR = 'data: {"error":{"message":"overloaded","type":"overloaded_error"}}\n\n'

let ctx: RequestContext
let exchange: FakeExchange
let control: RecordingControl
let relay: StreamRelay

beforeEach(() => {
  ;({ ctx, exchange } = makeContext())
  control = new RecordingControl()
  relay = makeRelay(false)
})

describe('before the first event', () => {
  it('holds comments back, so that a failure may go to another key', () => {
    feed(COMMENT + COMMENT)
    expect([exchange.response.started, control.calls]).toEqual([false, []])
    feed(ERROR)
    expect(control.calls).toEqual(['failed'])
    expect(control.error).toMatchObject({ code: 'UPSTREAM_OVERLOADED', retryable: true })
    expect([exchange.response.started, ctx.finish, ctx.outcome.status]).toEqual([false, null, 0])
  })

  it('holds tiny comments without an object for each', () => {
    const comments = 65_000 / 4
    relay = makeRelay(false)
    const before = memoryInUse()
    for (let n = 0; n < comments; n++) feed(': \n\n')
    expect(memoryInUse() - before).toBeLessThan(1_000_000)
    expect(exchange.response.started).toBe(false)
  })

  it('sends the comments that it held with the first event, in order', () => {
    feed(COMMENT + COMMENT)
    feed(text('a'))
    expect(sent()).toBe(COMMENT + COMMENT + text('a'))
    expect(exchange.response.status).toBe(200)
  })

  it('holds 64 KiB at most', () => {
    const long = `: ${'x'.repeat(10_000)}\n\n`
    for (let i = 0; i < 8; i++) feed(long)
    expect(sent()).toBe(long.repeat(8))
  })

  it.each([
    ['ends', (): void => relay.end(), 'UPSTREAM_TRUNCATED'],
    ['sends what is no JSON', (): void => feed('data: {"a":\n\n'), 'UPSTREAM_INVALID_ANSWER'],
  ] as const)('fails over when the stream %s', (_name, act, code) => {
    feed(COMMENT)
    act()
    expect(control.calls).toEqual(['failed'])
    expect(control.error).toMatchObject({ code, retryable: true })
    expect(exchange.response.started).toBe(false)
  })
})

describe('whether the upstream is idle', () => {
  it.each([
    ['an event', text('a'), 1],
    ['the end of an event', text('a').slice(-1), 1],
    ['a comment', COMMENT, 1],
    ['a line of a comment, of no event', ': processing\n', 1],
    ['a piece of a line', text('a').slice(0, 10), 0],
    ['a piece of a comment', ': proc', 0],
    ['a line of an event', text('a').slice(0, -1), 0],
  ])('is told by events and comments: %s', (_name, bytes, progress) => {
    if (bytes === '\n') feed(text('a').slice(0, -1))
    feed(bytes)
    expect(control.progress).toBe(progress)
  })
})

describe('a stream that breaks off within an event', () => {
  it('is truncated, not broken', () => {
    feed(text('a') + text('b').slice(0, -9))
    relay.end()
    ctx.finish?.()
    expect([control.calls, control.error?.code]).toEqual([['broken'], 'UPSTREAM_TRUNCATED'])
  })

  it('is whole when its finish reason has come', () => {
    feed(text('a') + FINISH + USAGE + DONE.slice(0, 4))
    relay.end()
    ctx.finish?.()
    expect(sent()).toBe(text('a') + FINISH + DONE)
    expect([control.calls, ctx.tokens.settlement]).toEqual([['served'], 'exact'])
  })
})

describe('a stream whose connection breaks', () => {
  const reset = new GatewayError('UPSTREAM_TRUNCATED', { detail: 'reset' })

  it.each([
    ['and its usage', USAGE, 'exact', 3],
    ['and a part of its usage', USAGE.slice(0, 30), 'observed', 1],
    ['and nothing else', '', 'observed', 1],
  ])('is whole when its finish reason has come %s', (_, rest, settlement, tokens) => {
    feed(text('abc') + FINISH + rest)
    relay.lost(reset)
    ctx.finish?.()
    expect(sent()).toBe(text('abc') + FINISH + DONE)
    expect(control.calls).toEqual(['served'])
    expect([ctx.tokens.settlement, ctx.tokens.usage.completionTokens]).toEqual([settlement, tokens])
  })

  it('is broken before', () => {
    feed(text('a'))
    relay.lost(reset)
    ctx.finish?.()
    expect([control.calls, control.error]).toEqual([['broken'], reset])
    expect(sent()).not.toContain(DONE)
  })
})

describe('a whole stream', () => {
  it('passes event by event, its end kept back until the record is safe', () => {
    feed(text('a') + text('b'))
    expect(sent()).toBe(text('a') + text('b'))
    feed(FINISH + USAGE + DONE)
    expect(sent()).toBe(text('a') + text('b') + FINISH)
    expect([exchange.response.ended, control.calls]).toEqual([false, ['served']])
    ctx.finish?.()
    expect(sent()).toBe(text('a') + text('b') + FINISH + DONE)
    expect(exchange.response.ended).toBe(true)
    expect([ctx.tokens.settlement, ctx.tokens.usage.promptTokens, ctx.tokens.usage.completionTokens]).toEqual([
      'exact',
      7,
      3,
    ])
  })

  it('shows its usage to a client that asked for it', () => {
    relay = makeRelay(true)
    feed(text('a') + FINISH + USAGE + DONE)
    ctx.finish?.()
    expect(sent()).toBe(text('a') + FINISH + USAGE + DONE)
  })

  it('comes out the same however its bytes are cut', () => {
    const whole = COMMENT + text('aé😀') + text('b') + COMMENT + FINISH + USAGE + DONE
    const expected = COMMENT + text('aé😀') + text('b') + COMMENT + FINISH + DONE
    const bytes = Buffer.from(whole)
    for (const size of [1, 2, 3, 7, 64, bytes.length]) {
      ;({ ctx, exchange } = makeContext())
      control = new RecordingControl()
      relay = makeRelay(false)
      for (let at = 0; at < bytes.length; at += size) relay.data(Buffer.from(bytes.subarray(at, at + size)))
      ctx.finish?.()
      expect(sent(), `pieces of ${size}`).toBe(expected)
      expect(control.calls).toEqual(['served'])
    }
  })

  it('is over with its terminal event, whatever comes behind it', () => {
    feed(text('a') + DONE)
    feed(text('ghost') + DONE + ERROR)
    relay.end()
    ctx.finish?.()
    expect(sent()).toBe(text('a') + DONE)
    expect(control.calls).toEqual(['served'])
  })

  it('gets the terminal event that it lacks', () => {
    feed(text('a') + FINISH)
    relay.end()
    expect(control.calls).toEqual(['served'])
    ctx.finish?.()
    expect(sent()).toBe(text('a') + FINISH + DONE)
  })

  it('pauses the upstream while the client is slow', () => {
    exchange.response.accepts = false
    feed(text('a'))
    expect(control.calls).toEqual(['pause'])
  })
})

describe('behind the first byte', () => {
  it('a failure ends the stream with an error that the client can read, and no [DONE]', () => {
    feed(text('a'))
    feed(ERROR)
    expect(control.calls).toEqual(['broken'])
    expect(sent()).toBe(text('a'))
    ctx.finish?.()
    const last = sent().slice(text('a').length)
    expect(JSON.parse(last.replace(/^data: /, ''))).toMatchObject({ error: { code: 'UPSTREAM_OVERLOADED' } })
    expect([exchange.response.ended, ctx.tokens.settlement]).toEqual([true, 'observed'])
  })

  it('so does a stream that ends too early', () => {
    feed(text('a'))
    relay.end()
    expect([control.calls, control.error?.code]).toEqual([['broken'], 'UPSTREAM_TRUNCATED'])
  })

  it('counts what passed, where nobody told', () => {
    feed(text('12345678'))
    relay.end()
    expect(ctx.tokens.usage).toMatchObject({ promptTokens: 40, completionTokens: 2 })
  })
})

describe('a client that left', () => {
  it('gets nothing more, and is read for to the end', () => {
    feed(text('a'))
    relay.clientLeft()
    ctx.outcome.aborted = true
    feed(text('b') + FINISH + USAGE + DONE)
    expect(sent()).toBe(text('a'))
    expect([control.calls, ctx.tokens.settlement, ctx.tokens.usage.completionTokens]).toEqual([
      ['served'],
      'after_disconnect',
      3,
    ])
  })
})

function makeRelay(wantsUsage: boolean): StreamRelay {
  const answer = {
    ctx,
    body: { ...BODY, wantsUsage },
    dialect: dialectOf('openai-chat'),
    translation: null,
    reading: null,
    status: 200,
    headers: {},
    clock: { now: () => 1_000, monotonicUs: () => 6_000 },
    redact: (text: string) => text,
  }
  return new StreamRelay(answer, control)
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function text(content: string): string {
  return event({ choices: [{ index: 0, delta: { content } }] })
}

function feed(bytes: string): void {
  relay.data(Buffer.from(bytes))
}

function sent(): string {
  return exchange.response.body.toString()
}
