import { createServer, Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { loadUws } from '../../../src/front/server/uws.ts'
import type { Uws } from '../../../src/front/server/uws.ts'
import { claimPort } from '../../../src/supervisor/listen-port.ts'

const HOST = '127.0.0.1'
const { uws } = loadUws(undefined)

afterEach(() => {
  vi.restoreAllMocks()
})

it('does not listen on a port that it is given, which would reset whoever connects meanwhile', async () => {
  const { port, release } = await claimPort(HOST, 0)
  await release()
  const listening = vi.spyOn(Server.prototype, 'listen')
  expect((await claimPort(HOST, port)).port).toBe(port)
  expect(listening).not.toHaveBeenCalled()
})

it('refuses a port that somebody listens on, unless it is that of a gateway that hands over', async () => {
  const server = createServer()
  const port = await new Promise<number>((resolve) => {
    server.listen(0, HOST, () => resolve((server.address() as AddressInfo).port))
  })
  await expect(claimPort(HOST, port)).rejects.toThrow(`port ${port} on ${HOST} is in use`)
  expect((await claimPort(HOST, port, [port])).port).toBe(port)
  await new Promise((resolve) => server.close(resolve))
})

it('holds the port that it finds: fronts can listen there, nobody else can', async () => {
  const held = await claimPort(HOST, 0)
  await expect(listens(held.port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const fronts = [uws.App(), uws.App()]
  expect(await Promise.all(fronts.map((front) => frontListens(front, held.port)))).toEqual([true, true])
  await held.release()
  await expect(listens(held.port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  for (const front of fronts) front.close()
  await listens(held.port)
})

it('finds another one while one is held', async () => {
  const held = await Promise.all(Array.from({ length: 20 }, () => claimPort(HOST, 0)))
  expect(new Set(held.map(({ port }) => port)).size).toBe(held.length)
  await Promise.all(held.map(({ release }) => release()))
})

// Node 22 finds and holds in one step.
it.runIf(process.version.startsWith('v20.'))(
  'finds another one when two gateways found the same in the same moment',
  async () => {
    const other = await claimPort(HOST, 0)
    const address = { address: HOST, family: 'IPv4', port: other.port }
    vi.spyOn(Server.prototype, 'address').mockReturnValueOnce(address)
    const held = await claimPort(HOST, 0)
    expect(held.port).not.toBe(other.port)
    await Promise.all([held.release(), other.release()])
  },
)

function listens(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve()))
  })
}

function frontListens(app: ReturnType<Uws['App']>, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    app.listen(HOST, port, (socket) => resolve(socket !== false))
  })
}
