import { EventEmitter, once } from 'node:events'
import { Socket } from 'node:net'
import type { LookupFunction } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import type { GatewayError } from '../../../src/shared/core/errors.ts'
import { UpstreamReach } from '../../../src/shared/core/upstream-reach.ts'
import type { Connect } from '../../../src/front/upstream/connector.ts'
import { Http1Client } from '../../../src/front/upstream/http1/http1-client.ts'
import type { UpstreamRequest } from '../../../src/front/upstream/upstream-client.ts'
import { INNER_ADDRESSES, INNER_HOSTS, PUBLIC_ADDRESS } from '../../support/inner-addresses.ts'

const TIMEOUTS = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 }
const deadlines = new DeadlineClock({ now: () => 0, monotonicUs: () => 0 })
let client: Http1Client

/** Addresses that a connection was opened to. Sockets never connect: they are refused once the address is known. */
let reached: string[] = []

const connect: Connect = ({ host, lookup }) => {
  const socket = new Socket()
  const end = (error: Error): void => {
    socket.destroy(error)
  }
  if (/^[\d.]+$|:/.test(host)) {
    reached.push(host)
    end(new Error('reached'))
    return socket
  }
  lookup(host, { all: true }, (error, found) => {
    if (error === null) for (const { address } of found as Array<{ address: string }>) reached.push(address)
    end(error ?? new Error('reached'))
  })
  return socket
}

/** Gives these answers one after the other. */
function resolver(...answers: ReadonlyArray<readonly string[]>): LookupFunction {
  let asked = 0
  return (_host, _options, callback) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? []
    asked += 1
    process.nextTick(() => {
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    })
  }
}

function clientWith(lookup: LookupFunction, listed: readonly string[] = []): void {
  client = new Http1Client({ deadlines, maxConnections: 4, connect, lookup, reach: new UpstreamReach(listed) })
  reached = []
}

/** What became of a request, which always fails here. */
async function send(origin: string, publicOnly = true): Promise<GatewayError> {
  const outcome = new EventEmitter()
  const request: UpstreamRequest = {
    origin,
    path: '/',
    method: 'GET',
    headers: [],
    body: null,
    timeouts: TIMEOUTS,
    publicOnly,
  }
  client.send(request, {
    onHead: () => undefined,
    onData: () => undefined,
    onEnd: () => undefined,
    onError: (error) => outcome.emit('over', error),
  })
  const [error] = (await once(outcome, 'over')) as [GatewayError]
  return error
}

afterEach(async () => {
  await client.close()
})

it.each(INNER_HOSTS)('refuses an address of the management plane at %s, and connects to nothing', async (host) => {
  // What no resolver would say of an inner name: no name helps against the rule.
  clientWith(resolver(['127.0.0.1']))
  for (const scheme of ['https', 'http']) {
    const url = `${scheme}://${host}/v1`
    if (!URL.canParse(url)) continue
    expect(new UpstreamReach().refusalOf(new URL(url))).toContain('management.private_upstreams')
    expect(await send(new URL(url).origin)).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' })
  }
  expect(reached).toEqual([])
})

it.each(INNER_ADDRESSES)('connects to nothing where a name turns out to be %s', async (address) => {
  clientWith(resolver([address]))
  const error = await send('https://models.example.com')
  expect(error).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' })
  expect(error.detail).toContain('no address on the public Internet')
  expect(reached).toEqual([])
})

it('connects to the public addresses alone of a name that has others too', async () => {
  clientWith(resolver(['10.0.0.1', PUBLIC_ADDRESS, '::1', '2606:2800:220:1::1']))
  await send('https://models.example.com')
  expect(reached).toEqual([PUBLIC_ADDRESS, '2606:2800:220:1::1'])
})

it('looks at the address of each connection: a second answer for the name changes nothing', async () => {
  clientWith(resolver([PUBLIC_ADDRESS], ['169.254.169.254'], ['127.0.0.1', PUBLIC_ADDRESS]))
  for (let call = 0; call < 3; call++) await send('https://models.example.com')
  expect(reached).toEqual([PUBLIC_ADDRESS, PUBLIC_ADDRESS])
})

it('leaves the addresses of the configuration file to the operator', async () => {
  clientWith(resolver(['10.0.0.1']))
  await send('http://models.lan', false)
  await send('http://127.0.0.1:8000', false)
  expect(reached).toEqual(['10.0.0.1', '127.0.0.1'])
})

it('goes where the operator has listed the host or the range, and nowhere beside it', async () => {
  const listed = ['Models.lan', '10.1.0.0/16', 'fd00::5']
  const reach = new UpstreamReach(listed)
  const may = ['http://models.lan.', 'http://10.1.2.3:8000', 'http://[fd00::5]', 'https://api.example.com']
  for (const url of may) expect(reach.refusalOf(new URL(url)), url).toBeNull()
  const mayNot = [
    'http://other.lan',
    'http://10.2.0.1',
    'http://[fd00::6]',
    'http://api.example.com',
    'https://a.models.lan',
  ]
  for (const url of mayNot) expect(reach.refusalOf(new URL(url)), url).not.toBeNull()

  clientWith(resolver(['10.9.9.9'], ['10.1.2.3'], ['10.2.0.1']), listed)
  await send('http://models.lan')
  await send('https://a.example.com')
  await send('https://b.example.com')
  await send('http://10.1.2.3')
  await send('http://10.2.0.1')
  expect(reached).toEqual(['10.9.9.9', '10.1.2.3', '10.1.2.3'])
})

it('tells public addresses from those around them', () => {
  const reach = new UpstreamReach()
  const open = [
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.0.1',
    '223.255.255.255',
  ]
  for (const address of [...open, '2001:200::1', '2a00:1450:4001::1', '2606:4700::1111']) {
    expect(reach.allows('name.example.com', address), address).toBe(true)
  }
})
