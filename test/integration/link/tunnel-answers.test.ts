import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CREDIT_BYTES } from '../../../src/shared/link/messages.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { LinkPair, over } from './link-pair.ts'

let link: LinkPair

beforeEach(async () => {
  link = await new LinkPair().start()
})

afterEach(() => link.close())

const PIECE = 65_536

describe('a large answer', () => {
  let made: number

  beforeEach(() => {
    made = 0
    link.serve = async () => ({ status: 200, headers: [], body: pieces(64) })
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
    await link.forward(exchange)
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(CREDIT_BYTES)
    })
    // A request behind it has its answer: whatever was to come for the first one has come.
    await link.quick()
    expect(exchange.response.body).toHaveLength(CREDIT_BYTES)
    expect(made).toBeLessThanOrEqual(CREDIT_BYTES + PIECE)

    exchange.response.drain()
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(2 * CREDIT_BYTES)
    })
    await link.quick()
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
    await link.forward(exchange)
    await eventually(() => {
      expect(exchange.response.body.length).toBeGreaterThanOrEqual(CREDIT_BYTES)
    })
    exchange.response.leave()
    await eventually(() => {
      expect(link.served[0]?.signal.aborted).toBe(true)
    })
    await link.quick()
    expect(made).toBeLessThanOrEqual(CREDIT_BYTES + PIECE)
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('is cut, not refused, when the channel is lost in the middle of it', async () => {
    const exchange = new FakeExchange()
    exchange.response.accepts = false
    const { refusals } = await link.forward(exchange)
    await eventually(() => {
      expect(exchange.response.started).toBe(true)
    })
    link.control.close()
    await eventually(() => {
      expect(exchange.response.destroyed).toBe(true)
    })
    expect(refusals).toEqual([])
  })

  it('takes its iterator down when it is given up', async () => {
    let returned = false
    link.serve = async () => ({
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
    await link.forward(exchange)
    await eventually(() => {
      expect(exchange.response.started).toBe(true)
    })
    exchange.response.leave()
    await eventually(() => {
      expect(returned).toBe(true)
    })
  })
})
