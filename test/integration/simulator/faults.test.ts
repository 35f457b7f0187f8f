import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FAULTS, type Behaviour } from '../../../src/simulator/behaviour.ts'
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { chunksOf, eventsOf, RawClient } from './raw-client.ts'
import { ANTHROPIC, chatBody, messagesBody } from './requests.ts'

let simulator: Simulator
const clients: RawClient[] = []

beforeAll(async () => {
  simulator = await startSimulator({})
})
beforeEach(() => {
  simulator.reset()
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
afterAll(() => simulator.close())

function open(): RawClient {
  const client = new RawClient(simulator.port)
  clients.push(client)
  return client
}

function chat(behaviour: Behaviour, stream = true): RawClient {
  const body = chatBody('Hello', { stream, stream_options: { include_usage: true } })
  return open().post('/v1/chat/completions', body, { 'x-sim': JSON.stringify(behaviour) })
}

function messages(behaviour: Behaviour): RawClient {
  const headers = { ...ANTHROPIC, 'x-sim': JSON.stringify(behaviour) }
  return open().post('/v1/messages', messagesBody('Hello', { stream: true }), headers)
}

const hasHead = (client: RawClient): boolean => client.text.includes('\r\n\r\n')
const isWhole = (client: RawClient): boolean => hasHead(client) && chunksOf(client).whole
const lastRecord = (): unknown => simulator.ledger.records().at(-1)

describe('before the headers', () => {
  it.each([true, false])('accept-close hangs up without a byte (stream: %s)', async (stream) => {
    const client = await chat({ fault: 'accept-close' }, stream).ended()
    expect(client.bytes.length).toBe(0)
    expect(lastRecord()).toMatchObject({ outcome: 'fault', fault: 'accept-close', status: 0 })
  })

  it('accept-close of a credential does not wait for the body', async () => {
    simulator.configureKey('shut', { fault: 'accept-close' })
    const head =
      'POST /chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer shut\r\ncontent-length: 1000\r\n\r\n'
    expect((await open().send(head).ended()).bytes.length).toBe(0)
  })

  it('reset-before-headers sends RST', async () => {
    const client = await chat({ fault: 'reset-before-headers' }).ended()
    expect([client.bytes.length, client.ending]).toEqual([0, 'reset'])
  })

  it('hang-before-headers says nothing until the peer leaves', async () => {
    const client = chat({ fault: 'hang-before-headers' })
    await until(() => simulator.requests().some((entry) => entry.bodyAt !== null))
    expect(client.bytes.length).toBe(0)
    client.close()
    await until(() => simulator.ledger.totals.inFlight === 0)
    expect(lastRecord()).toMatchObject({ outcome: 'aborted', abortSeenAt: expect.any(Number) })
  })

  it('garbage is not HTTP', async () => {
    const client = await chat({ fault: 'garbage' }).ended()
    expect(client.bytes.length).toBe(256)
    expect(client.text).not.toContain('HTTP/1.1')
  })

  it('redirect points to a place that notices who follows', async () => {
    const client = await chat({ fault: 'redirect' }).until(hasHead)
    expect(client.head).toContain('HTTP/1.1 307')
    expect(client.head).toContain(`location: ${simulator.origin}/__sim/redirected`)
    await (await fetch(`${simulator.origin}/__sim/redirected`)).text()
    expect(simulator.stats().redirectsFollowed).toBe(1)
  })

  it('html is a proxy page with the status asked for', async () => {
    expect((await chat({ fault: 'html' }).until(hasHead)).text).toMatch(/^HTTP\/1\.1 502 [^]*text\/html[^]*<html>/)
    expect((await chat({ fault: 'html', status: 200 }).until(hasHead)).head).toContain('HTTP/1.1 200')
  })
})

describe('after the headers', () => {
  it.each([true, false])('reset-after-headers sends the head, then RST (stream: %s)', async (stream) => {
    const client = await chat({ fault: 'reset-after-headers' }, stream).ended()
    expect(client.head).toContain('HTTP/1.1 200')
    expect([client.body, client.ending]).toEqual(['', 'reset'])
  })

  it.each([true, false])('hang-after-headers sends the head and stays (stream: %s)', async (stream) => {
    const client = await chat({ fault: 'hang-after-headers' }, stream).until(hasHead)
    expect([client.body, client.ending]).toEqual(['', 'open'])
    expect(simulator.ledger.totals.inFlight).toBe(1)
  })

  it('reset-, hang- and close-mid-stream write the events told and no end', async () => {
    for (const [fault, ending] of [
      ['reset-mid-stream', 'reset'],
      ['close-mid-stream', 'fin'],
    ] as const) {
      const client = await chat({ fault, after: 3 }).ended()
      expect(eventsOf(chunksOf(client).body)).toHaveLength(3)
      expect([chunksOf(client).whole, client.ending]).toEqual([false, ending])
      expect(lastRecord()).toMatchObject({ outcome: 'fault', events: 3, completionTokens: 2 })
    }
    const hanging = await chat({ fault: 'hang-mid-stream', after: 3 }).until((it) => chunksOf(it).body.includes('said'))
    expect(eventsOf(chunksOf(hanging).body)).toHaveLength(3)
    expect(hanging.ending).toBe('open')
  })

  it('mid-stream faults break a buffered answer after half of its body', async () => {
    for (const [fault, ending] of [
      ['reset-mid-stream', 'reset'],
      ['close-mid-stream', 'fin'],
    ] as const) {
      const client = await chat({ fault }, false).ended()
      const declared = Number(/content-length: (\d+)/.exec(client.head)?.[1])
      expect(client.body.length).toBe(declared >> 1)
      expect(client.ending).toBe(ending)
    }
  })

  it('a stream framed by the end of the connection looks whole when it is cut', async () => {
    const client = await chat({ fault: 'close-mid-stream', framing: 'close', after: 2 }).ended()
    expect(client.head).toContain('connection: close')
    expect(client.head).not.toContain('transfer-encoding')
    expect(eventsOf(client.body)).toHaveLength(2)
  })
})

describe('in the events', () => {
  it('no-terminal, double-terminal and early-terminal', async () => {
    const data = async (behaviour: Behaviour): Promise<string[]> =>
      eventsOf(chunksOf(await chat(behaviour).until(isWhole)).body).map((event) => event.data)
    const none = await data({ fault: 'no-terminal' })
    expect(none).not.toContain('[DONE]')
    expect(none.some((text) => text.includes('"finish_reason":"stop"'))).toBe(true)
    expect((await data({ fault: 'double-terminal' })).slice(-2)).toEqual(['[DONE]', '[DONE]'])
    const early = await data({ fault: 'early-terminal', after: 2 })
    expect([early.length, early.at(-1)]).toEqual([3, '[DONE]'])

    const types = async (behaviour: Behaviour): Promise<(string | null)[]> =>
      eventsOf(chunksOf(await messages(behaviour).until(isWhole)).body).map((event) => event.event)
    expect((await types({ fault: 'no-terminal' })).at(-1)).toBe('message_delta')
    expect((await types({ fault: 'double-terminal' })).slice(-2)).toEqual(['message_stop', 'message_stop'])
    expect(await types({ fault: 'early-terminal', after: 1 })).toEqual(['message_start', 'message_stop'])
  })

  it('garbage-event and truncated-json put a line into the stream that is no JSON', async () => {
    for (const fault of ['garbage-event', 'truncated-json'] as const) {
      const { body } = chunksOf(await chat({ fault, after: 2 }).until(isWhole))
      const bad = eventsOf(body)[2]?.data ?? ''
      expect(() => JSON.parse(bad)).toThrow()
      const buffered = await chat({ fault }, false).until(isComplete)
      expect(() => JSON.parse(buffered.body)).toThrow()
    }
  })

  it('error events come first or in the middle, and nothing after them', async () => {
    const first = eventsOf(chunksOf(await chat({ fault: 'error-event-first' }).until(isWhole)).body)
    expect(first).toHaveLength(1)
    expect(JSON.parse(first[0]?.data ?? '')).toMatchObject({ error: { type: 'server_error' } })
    const mid = eventsOf(chunksOf(await messages({ fault: 'error-event-mid', after: 4 }).until(isWhole)).body)
    expect(mid).toHaveLength(5)
    expect(mid[4]?.event).toBe('error')
    expect(JSON.parse(mid[4]?.data ?? '')).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  })

  it('error-in-200 is an error body under a good status', async () => {
    for (const stream of [true, false]) {
      const client = await chat({ fault: 'error-in-200' }, stream).until(isComplete)
      expect(client.head).toContain('HTTP/1.1 200')
      expect(client.head).toContain('application/json')
      expect(JSON.parse(client.body)).toHaveProperty('error.message')
    }
  })

  it('bare-json answers a stream with a whole body', async () => {
    const client = await chat({ fault: 'bare-json' }).until(isComplete)
    expect(JSON.parse(client.body)).toMatchObject({ object: 'chat.completion', usage: { completion_tokens: 4 } })
  })

  it('long-line carries a line of a megabyte', async () => {
    const { body } = chunksOf(await chat({ fault: 'long-line' }).until(isWhole))
    expect(Math.max(...body.split('\n').map((line) => line.length))).toBeGreaterThan(1024 * 1024)
    for (const event of eventsOf(body).slice(0, -1)) JSON.parse(event.data)
    const buffered = await chat({ fault: 'long-line' }, false).until(isComplete)
    expect(JSON.parse(buffered.body).choices[0].message.content).toHaveLength(1024 * 1024)
  })

  it('comments and crlf change nothing that matters', async () => {
    const plain = eventsOf(chunksOf(await chat({}).until(isWhole)).body).length
    const comments = chunksOf(await chat({ fault: 'comments' }).until(isWhole)).body
    expect(comments.startsWith(': OPENROUTER PROCESSING\n\n')).toBe(true)
    expect(eventsOf(comments)).toHaveLength(plain)
    const crlf = chunksOf(await chat({ fault: 'crlf' }).until(isWhole)).body
    expect(crlf.replaceAll('\r\n', '')).not.toContain('\n')
    expect(eventsOf(crlf)).toHaveLength(plain)
  })
})

describe('in the bytes', () => {
  it('split-utf8 tears every wide character', async () => {
    const client = await chat({ fault: 'split-utf8', text: 'naïve 了解 👍🏽' }).until(isWhole)
    const said = eventsOf(chunksOf(client).body)
      .slice(0, -1)
      .map((event) => JSON.parse(event.data))
    expect(said.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('naïve 了解 👍🏽')
    expect(simulator.ledger.totals).toMatchObject({ ok: 1, completionTokens: 5 })
  })

  it('byte-by-byte delivers a whole answer in many pieces', async () => {
    for (const stream of [true, false]) {
      const client = await chat({ fault: 'byte-by-byte', text: 'Hi' }, stream).until(stream ? isWhole : isComplete)
      expect(client.pieces.length).toBeGreaterThan(20)
    }
    expect(simulator.ledger.totals).toMatchObject({ ok: 2, completionTokens: 2 })
  })

  it('slow-bytes sends the head, then the body at its pace, and books what left', async () => {
    const client = await chat({ fault: 'slow-bytes', bytesPerSecond: 200 }).until((it) => it.body.length >= 3)
    expect(client.body.length).toBeLessThan(20)
    client.close()
    await until(() => simulator.ledger.totals.aborted === 1)
    expect(simulator.ledger.totals).toMatchObject({ promptTokens: 1, completionTokens: 0, inFlight: 0 })
  })

  it('wrong-content-length-short has bytes beyond its length, and -long ends before', async () => {
    for (const stream of [true, false]) {
      const short = await chat({ fault: 'wrong-content-length-short' }, stream).until(isComplete)
      expect(short.bytes.length - short.bytes.indexOf('\r\n\r\n') - 4).toBe(declaredLength(short) + 10)
      const long = await chat({ fault: 'wrong-content-length-long' }, stream).ended()
      expect(long.bytes.length - long.bytes.indexOf('\r\n\r\n') - 4).toBe(declaredLength(long) - 10)
    }
  })

  it('afterAnswer closes or resets a connection that promised to stay', async () => {
    const closed = await chat({ afterAnswer: 'close' }, false).ended()
    expect([isComplete(closed), closed.ending]).toEqual([true, 'fin'])
    const reset = await chat({ afterAnswer: 'reset-next' }, false).until(isComplete)
    const length = reset.bytes.length
    await reset.post('/v1/chat/completions', chatBody('again')).ended()
    expect([reset.bytes.length, reset.ending]).toEqual([length, 'reset'])
  })
})

it('plays every fault in both dialects and both ways without leaving anything in flight', async () => {
  for (const fault of FAULTS) {
    if (fault === 'slow-bytes') continue
    for (const stream of [true, false]) {
      const headers = { ...ANTHROPIC, 'x-sim': JSON.stringify({ fault }), connection: 'close' }
      for (const [path, body] of [
        ['/v1/chat/completions', chatBody('x', { stream })],
        ['/v1/messages', messagesBody('x', { stream })],
      ] as const) {
        const client = open().post(path, body, headers)
        if (fault.startsWith('hang')) {
          await until(() => simulator.requests().at(-1)?.bodyAt !== null && simulator.ledger.totals.inFlight === 1)
          client.close()
        } else await client.ended()
        await until(() => simulator.ledger.totals.inFlight === 0)
      }
    }
  }
  const { started, finished, aborted } = simulator.ledger.totals
  expect(started).toBe((FAULTS.length - 1) * 4)
  expect(finished + aborted).toBe(started)
})

function declaredLength(client: RawClient): number {
  return Number(/content-length: (\d+)/.exec(client.head)?.[1])
}

function isComplete(client: RawClient): boolean {
  return hasHead(client) && client.bytes.length - client.bytes.indexOf('\r\n\r\n') - 4 >= declaredLength(client)
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
