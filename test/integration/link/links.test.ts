import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'
import { HEALTH, LinkPair } from './link-pair.ts'

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
