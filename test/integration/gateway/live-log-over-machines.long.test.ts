import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { LiveStream } from '../../support/live-streams.ts'
import { startTwoMachines } from '../../support/two-machines.ts'
import type { TwoMachines } from '../../support/two-machines.ts'

describe.runIf(inject('database') === 'postgres')('live streams of two machines', () => {
  let machines: TwoMachines

  beforeAll(async () => {
    machines = await startTwoMachines()
  }, 180_000)

  afterAll(() => machines.stop())

  it('have the requests of both, each once, and say that one machine does not know the events of another', async () => {
    const urls = machines.gateways.map(({ url }) => url)
    const { admin } = machines
    const streams = await Promise.all(
      urls.map((url) => LiveStream.of(url, admin, 'adminLive', { query: { model: 'm' } })),
    )
    const ids: string[] = []
    for (const url of [...urls, ...urls, ...urls]) {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${machines.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
      })
      expect(answer.status, await answer.text()).toBe(200)
      ids.push(answer.headers.get('x-request-id') ?? '')
    }
    for (const stream of streams) {
      await eventually(
        () => {
          expect(stream.entries.map(({ id }) => id).sort()).toEqual([...ids].sort())
        },
        { timeoutMs: 40_000 },
      )
    }
    const lastEventId = streams[0]?.lastEventId ?? ''
    const resumed = await Promise.all(urls.map((url) => LiveStream.of(url, admin, 'adminLive', { lastEventId })))
    await eventually(() => {
      expect(resumed.map(({ events }) => events[0]?.data)).toEqual([{ resumed: true }, { resumed: false }])
    })
    for (const stream of [...streams, ...resumed]) stream.leave()
  })
})
