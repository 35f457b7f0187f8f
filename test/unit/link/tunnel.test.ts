import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DeadlineClock } from '../../../src/core/deadlines.ts'
import { GatewayError } from '../../../src/core/errors.ts'
import type { ManagementRequest, ManagementResponse } from '../../../src/link/control-link.ts'
import { ControlLink } from '../../../src/link/control-link.ts'
import { FrontLink } from '../../../src/link/front-link.ts'
import { CREDIT_BYTES } from '../../../src/link/messages.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'

const PIECE = 65_536
const MAX_BODY = 4 * 1024 * 1024

let directory: string
let control: ControlLink
let front: FrontLink
let nowMs: number
let deadlines: DeadlineClock
let served: ManagementRequest[]
let faults: unknown[]
let serve: (request: ManagementRequest) => Promise<ManagementResponse>
let greeted: number

/** Both ends, on a Unix socket of their own. */
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-link-'))
  served = []
  faults = []
  greeted = 0
  serve = async () => ({ status: 200, headers: [['Content-Type', 'text/plain']], body: Buffer.from('hello') })
  nowMs = 1_000_000
  deadlines = new DeadlineClock({ now: () => nowMs, monotonicUs: () => nowMs * 1_000 })
  control = makeControl()
  await control.listen()
  front = new FrontLink({
    socketPath: join(directory, 'link'),
    front: 'front-0',
    deadlines,
    onSnapshot: () => undefined,
    onHealth: () => {
      greeted += 1
    },
  })
  front.start()
  await connected(1)
})

afterEach(() => {
  front.stop()
  control.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('a management request', () => {
  it('reaches the control process as it is, and its answer comes back', async () => {
    const body = Buffer.from('{"a":1}')
    const exchange = new FakeExchange({ method: 'POST', path: '/api/y', query: 'q=1', headers: { 'x-a': 'ä' } }, body)
    const { refusals } = await forward(exchange)
    await over(exchange)
    expect(refusals).toEqual([])
    expect(exchange.response).toMatchObject({ status: 200, headers: [['Content-Type', 'text/plain']], ended: true })
    expect(exchange.response.body.toString()).toBe('hello')
    expect(served).toMatchObject([
      {
        requestId: 'req_1',
        method: 'POST',
        path: '/api/y',
        query: 'q=1',
        headers: { 'x-a': 'ä' },
        address: '192.0.2.1',
      },
    ])
    expect(served[0]?.body.equals(body)).toBe(true)
    expect(front.tunnel.inFlight).toBe(0)
  })

  it('keeps a hundred at a time apart', async () => {
    serve = async (request) => ({
      status: 200,
      headers: [],
      body: Buffer.concat([request.body, Buffer.from(request.path)]),
    })
    const exchanges = Array.from(
      { length: 100 },
      (_, i) => new FakeExchange({ method: 'POST', path: `/${i}` }, Buffer.alloc(i * 997, i)),
    )
    await Promise.all(exchanges.map((exchange) => forward(exchange)))
    for (const [i, exchange] of exchanges.entries()) {
      await over(exchange)
      const expected = Buffer.concat([Buffer.alloc(i * 997, i), Buffer.from(`/${i}`)])
      expect(exchange.response.body.equals(expected), `request ${i}`).toBe(true)
    }
  })

  it('carries a body larger than the credit, whole', async () => {
    const body = patterned(3 * 1024 * 1024 + 17)
    serve = async (request) => ({ status: 201, headers: [], body: request.body })
    const exchange = new FakeExchange({ method: 'PUT' }, body)
    await forward(exchange)
    await over(exchange)
    expect(served[0]?.body.equals(body)).toBe(true)
    expect(exchange.response.body.equals(body)).toBe(true)
  })

  it('is refused when its body is larger than the control process takes', async () => {
    const exchange = new FakeExchange({ method: 'PUT' }, Buffer.alloc(MAX_BODY + 1))
    const { refusals } = await forward(exchange)
    await eventually(() => {
      expect(refusals).toHaveLength(1)
    })
    expect(served).toEqual([])
    expect(front.tunnel.inFlight).toBe(0)
  })

  it('is refused as its body was', async () => {
    const exchange = new FakeExchange({ method: 'POST' }, new GatewayError('BODY_TOO_LARGE'))
    const { refusals } = await forward(exchange)
    expect(refusals.map(({ code }) => code)).toEqual(['BODY_TOO_LARGE'])
    expect(front.tunnel.inFlight).toBe(0)
  })

  it('is refused beyond 256 at a time', async () => {
    serve = () => new Promise(() => undefined)
    const waiting = Array.from({ length: 256 }, () => new FakeExchange())
    for (const exchange of waiting) await forward(exchange)
    const { refusals } = await forward(new FakeExchange())
    expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE', status: 503, retryAfterSeconds: 1 }])
    waiting[0]?.response.leave()
    expect((await forward(new FakeExchange())).refusals).toEqual([])
  })

  it('is refused when the control process fails at it, and tells it', async () => {
    serve = () => Promise.reject(new Error('broken'))
    const { refusals } = await forward(new FakeExchange())
    await eventually(() => {
      expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    })
    expect(faults).toMatchObject([{ message: 'broken' }])
  })

  it('is given up after a minute of silence', async () => {
    serve = () => new Promise(() => undefined)
    const { refusals } = await forward(new FakeExchange())
    await eventually(() => {
      expect(served).toHaveLength(1)
    })
    nowMs += 59_000
    deadlines.tick()
    expect(refusals).toEqual([])
    nowMs += 2_000
    deadlines.tick()
    expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    await eventually(() => {
      expect(served[0]?.signal.aborted).toBe(true)
    })
  })
})

describe('a large answer', () => {
  let made: number

  beforeEach(() => {
    made = 0
    serve = async () => ({ status: 200, headers: [], body: pieces(64) })
  })

  async function* pieces(count: number): AsyncIterable<Buffer> {
    for (let i = 0; i < count; i++) {
      made += PIECE
      yield Buffer.alloc(PIECE, i)
    }
  }

  it('stops at the credit while the client takes nothing, and goes on as it drains', async () => {
    const exchange = new FakeExchange()
    exchange.response.accepts = false
    await forward(exchange)
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(CREDIT_BYTES)
    })
    // A request behind it has its answer: whatever was to come for the first one has come.
    await quick()
    expect(exchange.response.body).toHaveLength(CREDIT_BYTES)
    expect(made).toBeLessThanOrEqual(CREDIT_BYTES + PIECE)

    exchange.response.drain()
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(2 * CREDIT_BYTES)
    })
    await quick()
    expect(exchange.response.body).toHaveLength(2 * CREDIT_BYTES)

    exchange.response.accepts = true
    exchange.response.drain()
    await over(exchange)
    const whole = Buffer.concat(Array.from({ length: 64 }, (_, i) => Buffer.alloc(PIECE, i)))
    expect(exchange.response.body.equals(whole)).toBe(true)
  })

  it('ends for the control process when the client leaves', async () => {
    const exchange = new FakeExchange()
    exchange.response.accepts = false
    await forward(exchange)
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(CREDIT_BYTES)
    })
    exchange.response.leave()
    await eventually(() => {
      expect(served[0]?.signal.aborted).toBe(true)
    })
    await quick()
    expect(made).toBeLessThanOrEqual(CREDIT_BYTES + PIECE)
    expect(front.tunnel.inFlight).toBe(0)
  })

  it('is cut, not refused, when the channel is lost in the middle of it', async () => {
    const exchange = new FakeExchange()
    exchange.response.accepts = false
    const { refusals } = await forward(exchange)
    await eventually(() => {
      expect(exchange.response.started).toBe(true)
    })
    control.close()
    await eventually(() => {
      expect(exchange.response.destroyed).toBe(true)
    })
    expect(refusals).toEqual([])
  })

  it('takes its iterator down when it is given up', async () => {
    let returned = false
    serve = async () => ({
      status: 200,
      headers: [],
      body: (async function* () {
        try {
          yield* pieces(64)
        } finally {
          returned = true
        }
      })(),
    })
    const exchange = new FakeExchange()
    exchange.response.accepts = false
    await forward(exchange)
    await eventually(() => {
      expect(exchange.response.started).toBe(true)
    })
    exchange.response.leave()
    await eventually(() => {
      expect(returned).toBe(true)
    })
  })
})

describe('the channel', () => {
  it('refuses at once while there is none', async () => {
    control.close()
    await eventually(async () => {
      expect((await forward(new FakeExchange())).refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE', status: 503 }])
    })
    expect(front.tunnel.inFlight).toBe(0)
  })

  it('refuses what had no answer yet when it is lost, and aborts it over there', async () => {
    serve = () => new Promise(() => undefined)
    const { refusals } = await forward(new FakeExchange())
    await eventually(() => {
      expect(served).toHaveLength(1)
    })
    control.close()
    await eventually(() => {
      expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    })
    await eventually(() => {
      expect(served[0]?.signal.aborted).toBe(true)
    })
  })

  it('comes back by itself, and is greeted again', async () => {
    control.close()
    control = makeControl()
    await control.listen()
    await connected(2)
    await quick()
  })

  it('tells every front all news', async () => {
    control.broadcast(HEALTH)
    await connected(2)
  })

  it('stays down once it is stopped', async () => {
    front.stop()
    await eventually(async () => {
      expect((await forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    control.broadcast(HEALTH)
    expect(greeted).toBe(1)
  })
})

const HEALTH = {
  type: 'health',
  database: { status: 'ok', latencyMs: 1 },
  cache: { status: 'unused', latencyMs: 0 },
  atMs: 1,
  cacheShare: { promptTokens: 0, cachedTokens: 0 },
} as const

function makeControl(): ControlLink {
  return new ControlLink({
    socketPath: join(directory, 'link'),
    maxBodyBytes: MAX_BODY,
    greet: () => [HEALTH],
    serve: (request) => {
      served.push(request)
      return request.path === '/quick' ? quickAnswer() : serve(request)
    },
    onUsage: () => undefined,
    onFault: (cause) => faults.push(cause),
  })
}

async function quickAnswer(): Promise<ManagementResponse> {
  return { status: 200, headers: [], body: Buffer.from('quick') }
}

function connected(times: number): Promise<void> {
  return eventually(() => {
    expect(greeted).toBeGreaterThanOrEqual(times)
  })
}

async function forward(exchange: FakeExchange): Promise<{ refusals: GatewayError[] }> {
  const refusals: GatewayError[] = []
  await front.tunnel.forward(exchange, 'req_1', (error) => refusals.push(error))
  return { refusals }
}

async function over(exchange: FakeExchange): Promise<void> {
  await eventually(() => {
    expect(exchange.response.ended).toBe(true)
  })
}

/** A whole request on the same channel. */
async function quick(): Promise<void> {
  const exchange = new FakeExchange({ path: '/quick' })
  await forward(exchange)
  await over(exchange)
}

function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 16)) & 255
  return bytes
}
