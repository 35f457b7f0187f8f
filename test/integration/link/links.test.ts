import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { HEALTH, LinkPair, over } from './link-pair.ts'

const EVENTS = { headers: { accept: 'text/event-stream' } }

let link: LinkPair

beforeEach(async () => {
  link = await new LinkPair().start()
})

afterEach(() => link.close())

describe('the channel', () => {
  it('refuses at once while there is none', async () => {
    link.control.close()
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toMatchObject([
        { code: 'CONTROL_UNAVAILABLE', status: 503 },
      ])
    })
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('refuses what had no answer yet when it is lost, and aborts it over there', async () => {
    link.serve = () => new Promise(() => undefined)
    const { refusals } = await link.forward(new FakeExchange())
    await eventually(() => {
      expect(link.served).toHaveLength(1)
    })
    link.control.close()
    await eventually(() => {
      expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    })
    await eventually(() => {
      expect(link.served[0]?.signal.aborted).toBe(true)
    })
  })

  it('holds a request for events while there is none, unless the client leaves', async () => {
    link.serve = () => new Promise(() => undefined)
    const [early, late, gone] = [new FakeExchange(EVENTS), new FakeExchange(EVENTS), new FakeExchange(EVENTS)]
    const asked = await link.forward(early)
    await eventually(() => {
      expect(link.served).toHaveLength(1)
    })
    link.control.close()
    // The front has seen the end of the channel.
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    const later = await link.forward(late)
    await link.forward(gone)
    gone.response.leave()
    expect([asked.refusals, later.refusals]).toEqual([[], []])
    link.serve = async () => ({ status: 200, headers: [['Content-Type', 'text/plain']], body: Buffer.from('back') })
    await link.startControl()
    await Promise.all([over(early), over(late)])
    expect([early.response.body.toString(), late.response.body.toString()]).toEqual(['back', 'back'])
    expect(link.served).toHaveLength(3)
  })

  it('breaks the connection of a request for events that it held for too long: a client comes back after that, not after a status', async () => {
    link.control.close()
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    const held = new FakeExchange(EVENTS)
    const { refusals } = await link.forward(held)
    link.pass(59_000)
    expect(held.response.over).toBe(false)
    link.pass(2_000)
    expect(held.response.destroyed).toBe(true)
    expect(refusals).toEqual([])
    expect(link.front.tunnel.inFlight).toBe(0)
  })

  it('gives a request for events its whole time again when it is sent at last, once', async () => {
    link.control.close()
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    const held = new FakeExchange(EVENTS)
    await link.forward(held)
    link.pass(50_000)
    link.serve = () => new Promise(() => undefined)
    await link.startControl()
    await eventually(() => {
      expect(link.served).toHaveLength(1)
    })
    link.pass(50_000)
    expect(held.response.over).toBe(false)
    await link.restartControl()
    await eventually(() => {
      expect(link.served).toHaveLength(2)
    })
    link.pass(11_000)
    expect(held.response.destroyed).toBe(true)
  })

  it('leaves room for requests when many that were held are sent at once', async () => {
    link.control.close()
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    const held = Array.from({ length: 300 }, () => new FakeExchange(EVENTS))
    for (const exchange of held) await link.forward(exchange)
    link.serve = ({ path }) =>
      path === '/quick'
        ? Promise.resolve({ status: 200, headers: [['Content-Type', 'text/plain']], body: Buffer.from('quick') })
        : new Promise(() => undefined)
    await link.startControl()
    await eventually(() => {
      expect(link.served).toHaveLength(300)
    })
    await link.quick()
    expect(held.every(({ response }) => !response.over)).toBe(true)
  })

  it('comes back by itself, and is greeted again', async () => {
    await link.restartControl()
    await link.connected(2)
    await link.quick()
  })

  it('tells every front all news', async () => {
    link.control.broadcast(HEALTH)
    await link.connected(2)
  })

  it('passes what a front learned about a key on to the others, not back to it', async () => {
    const other = link.anotherFront()
    await eventually(() => {
      expect(other.greeted).toBe(1)
    })
    const news = { keyId: 'key-1', kind: 'cooling', untilMs: 5, reason: 'HTTP 429' } as const
    link.front.announce(news)
    await eventually(() => {
      expect(other.heard).toEqual([news])
    })
    await link.quick()
    expect(link.heard).toEqual([])
    await other.stop()
  })

  it('stays down once it is stopped', async () => {
    await link.front.stop()
    await eventually(async () => {
      expect((await link.forward(new FakeExchange())).refusals).toHaveLength(1)
    })
    link.control.broadcast(HEALTH)
    expect(link.greeted).toBe(1)
  })
})
