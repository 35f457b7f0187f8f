import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { HEALTH, LinkPair, over } from './link-pair.ts'

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

  it('holds a request for events while there is none, up to its deadline and unless the client leaves', async () => {
    const events = { headers: { accept: 'text/event-stream' } }
    link.serve = () => new Promise(() => undefined)
    const [early, late, gone] = [new FakeExchange(events), new FakeExchange(events), new FakeExchange(events)]
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
    link.control.close()
    const { refusals } = await link.forward(new FakeExchange(events))
    link.pass(61_000)
    expect(refusals).toMatchObject([{ code: 'CONTROL_UNAVAILABLE' }])
    expect(link.front.tunnel.inFlight).toBe(0)
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
