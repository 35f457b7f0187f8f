import { createServer } from 'node:net'
import type { ListenOptions } from 'node:net'
import { setTimeout as elapsed } from 'node:timers/promises'
import { isListenedOn, listenersOn } from './listeners.ts'

/** The fronts of a gateway that was just killed may hold its port this much longer. */
const PATIENCE_MS = 2_000
const RETRY_MS = 50
/** Another program can take a free port between the search for it and the listen on it. */
const MAX_TRIES = 20

/** Node's types lack `reusePort`: the listener shares its port with others that set it, as those of the fronts do. */
interface SharedListenOptions extends ListenOptions {
  readonly reusePort: boolean
}

/** Node 20 ignores `reusePort`: there, the server library of the fronts holds the port. */
const CAN_SHARE = !process.version.startsWith('v20.')

/** A port that no other program can find or take. */
export interface HeldPort {
  readonly port: number
  /** Leaves the port to the fronts. Nobody may be told of the port before this call. */
  release(): Promise<void>
}

/**
 * Claims the port that the fronts will share. A given port is only checked: rejects when another program listens there. The fronts
 * cannot check this, because their listeners share the port with any listener that sets `reusePort`. The supervisor does not listen
 * there, because this would reset the clients of a gateway that restarts. For port 0, finds a free port and holds it until
 * `release`.
 *
 * @param ownPorts ports of gateways that are about to end and hand over to this one
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
    // An error without a code is not a system error: the build of the library does not load.
    throw error.code === undefined ? cause : new Error(reasonOf(error, host, port), { cause })
  }
}

/** Resolves when it can listen there, or when `isFree` returns true. Rejects with a text that says what to do. */
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

/** uWebSockets.js shares a given port, but not a free port that it picks itself. */
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
  throw new Error(`other programs took each of ${MAX_TRIES} free ports first; set PORT to a free port`)
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
