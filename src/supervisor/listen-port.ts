import { createServer } from 'node:net'
import type { ListenOptions } from 'node:net'
import { setTimeout as elapsed } from 'node:timers/promises'
import { isListenedOn, listenersOn } from './listeners.ts'

/** The fronts of a gateway that was killed a moment ago may be just about to let go of its port. */
const PATIENCE_MS = 2_000
const RETRY_MS = 50
/** Another program may take a port between its finding and its holding. */
const MAX_TRIES = 20

/** Newer than the types: the listener shares its port with others that offer to, as those of the fronts do. */
interface SharedListenOptions extends ListenOptions {
  readonly reusePort: boolean
}

/** Node 20 ignores the option: there the server library of the fronts has to hold the port. */
const CAN_SHARE = !process.version.startsWith('v20.')

/** A port that no other program can find or take. */
export interface HeldPort {
  readonly port: number
  /** For fronts to listen on it alone. Before that nobody must be told of it. */
  release(): Promise<void>
}

/**
 * The port that the fronts will share. One that is given is only looked at: rejects when somebody listens there already; the
 * fronts themselves could not tell, because their listeners share the port with anyone who offers to. Nobody may listen there
 * before the fronts do: it would reset the clients of a gateway that starts anew. For 0 a free one is found and held until it is
 * released.
 *
 * @param ownPorts of gateways that are about to end and hand over to this one
 */
export async function claimPort(host: string, port: number, ownPorts: readonly number[] = []): Promise<HeldPort> {
  if (port !== 0) {
    if (!ownPorts.includes(port) && isListenedOn(port)) await checkPort(host, port, () => !isListenedOn(port))
    return { port, release: () => Promise.resolve() }
  }
  try {
    return await (CAN_SHARE ? listen(host, 0) : listenAsFronts(host))
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException
    // Without a code it is not of the system: a build that does not load.
    throw error.code === undefined ? cause : new Error(reasonOf(error, host, port), { cause })
  }
}

/** Resolves when one can listen there, or once `isFree` says so; rejects with what to do about it. */
export async function checkPort(host: string, port: number, isFree: () => boolean = () => false): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS
  for (;;) {
    if (isFree()) return
    try {
      const alone = await listen(host, port, { reusePort: false })
      await alone.release()
      return
    } catch (cause) {
      const error = cause as NodeJS.ErrnoException
      if (error.code !== 'EADDRINUSE' || Date.now() >= endMs) throw new Error(reasonOf(error, host, port), { cause })
    }
    await elapsed(RETRY_MS)
  }
}

function listen(host: string, port: number, { reusePort } = { reusePort: true }): Promise<HeldPort> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    let closed: Promise<void> | null = null
    const release = (): Promise<void> => {
      closed ??= new Promise((done) => server.close(() => done()))
      return closed
    }
    const options: SharedListenOptions = { host, port, exclusive: true, reusePort }
    server.once('error', reject)
    server.listen(options, () => {
      const address = server.address()
      resolve({ port: typeof address === 'object' && address !== null ? address.port : port, release })
    })
  })
}

/** The library shares a port that it is given, not one that it is to find. */
async function listenAsFronts(host: string): Promise<HeldPort> {
  const { loadUws } = await import('../front/server/uws.ts')
  const { uws } = loadUws(process.env['SLUICE_UWS_BUILD'] || undefined)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await listen(host, 0)
    await found.release()
    const app = uws.App()
    const isHeld = await new Promise<boolean>((resolve) => {
      app.listen(host, found.port, (socket) => {
        resolve(socket !== false)
      })
    })
    const release = (): Promise<void> => {
      app.close()
      return Promise.resolve()
    }
    // Another gateway that found the same port in the same moment shares it, and each would answer clients of the other.
    if (isHeld && listenersOn(found.port) === 1) return { port: found.port, release }
    await release()
  }
  throw new Error('others took every port that was found')
}

function reasonOf(cause: NodeJS.ErrnoException, host: string, port: number): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use; set PORT to another one or stop the program that has it`
    case 'EACCES':
      return `port ${port} on ${host} needs more rights than this user has; set PORT to one above 1023`
    default:
      return `cannot listen on ${host}:${port}: ${cause.message}`
  }
}
