import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AiRequest } from '../../../src/shared/core/ai-request.ts'
import type { Exchange } from '../../../src/shared/core/exchange.ts'
import { CREDIT_BYTES } from '../../../src/shared/link/messages.ts'
import { eventually } from '../../support/eventually.ts'
import { LinkPair } from './link-pair.ts'

let link: LinkPair
/** The requests to the front. */
let asked: Exchange[]

const REQUEST: AiRequest = {
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { 'user-agent': 'test' },
  address: '192.0.2.7',
  keyDigest: 'd1',
  body: Buffer.from('{"model":"m"}'),
}

beforeEach(async () => {
  link = await new LinkPair().start()
  asked = []
  link.front.aiRequests.serve = (exchange) => {
    asked.push(exchange)
  }
})

afterEach(() => link.close())

async function served(): Promise<Exchange> {
  return eventually(() => {
    const [exchange] = asked
    if (exchange === undefined) throw new Error('nothing was asked')
    return exchange
  })
}

async function read(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of body) text += chunk.toString()
  return text
}

describe('an AI request of the control process', () => {
  it('is an exchange of the front, with the key and the address of the caller', async () => {
    const answering = link.control.requestAi(REQUEST, new AbortController().signal)
    const { request, response, ...exchange } = await served().then((one) => ({
      request: one.request,
      response: one.response,
      body: one.readBody(),
    }))
    expect(request).toMatchObject({ method: 'POST', path: REQUEST.path, address: '192.0.2.7', keyDigest: 'd1' })
    expect((await exchange.body).toString()).toBe('{"model":"m"}')
    response.start(200, [['X-Request-Id', 'req_1']])
    response.write(Buffer.from('a'))
    response.end(Buffer.from('b'))
    const answer = await answering
    expect([answer.status, answer.headers.get('x-request-id'), await read(answer.body)]).toEqual([200, 'req_1', 'ab'])
    expect(link.front.aiRequests.open).toBe(0)
  })

  it('stops the front at the credit until its answer is read', async () => {
    const answering = link.control.requestAi(REQUEST, new AbortController().signal)
    const { response } = await served()
    let drains = 0
    response.onDrain(() => (drains += 1))
    response.start(200, [])
    expect(response.write(Buffer.alloc(CREDIT_BYTES - 1))).toBe(true)
    expect(response.write(Buffer.alloc(1))).toBe(false)
    const reading = read((await answering).body)
    await eventually(() => {
      expect(drains).toBeGreaterThan(0)
    })
    response.end()
    expect(await reading).toHaveLength(CREDIT_BYTES)
  })

  it('is aborted at the front when its caller leaves, before and within the answer', async () => {
    for (const isStarted of [false, true]) {
      asked = []
      const caller = new AbortController()
      const answering = link.control.requestAi(REQUEST, caller.signal)
      const { response } = await served()
      let isAborted = false
      response.onAbort(() => (isAborted = true))
      if (isStarted) response.start(200, [])
      const outcome = isStarted ? answering.then((answer) => read(answer.body)) : answering
      if (isStarted) await answering
      caller.abort()
      await expect(outcome).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
      await eventually(() => {
        expect(isAborted).toBe(true)
      })
    }
  })

  it('fails when the front breaks it off, is away, or is not there', async () => {
    const broken = link.control.requestAi(REQUEST, new AbortController().signal)
    ;(await served()).response.destroy()
    await expect(broken).rejects.toMatchObject({ code: 'CONTROL_UNAVAILABLE' })
    const lost = link.control.requestAi(REQUEST, new AbortController().signal)
    await eventually(() => {
      expect(asked).toHaveLength(2)
    })
    const refused = expect(lost).rejects.toMatchObject({ code: 'CONTROL_UNAVAILABLE' })
    await link.front.stop()
    await refused
    await eventually(async () => {
      const none = link.control.requestAi(REQUEST, new AbortController().signal)
      await expect(none).rejects.toMatchObject({ message: /No front process/ })
    })
  })
})
