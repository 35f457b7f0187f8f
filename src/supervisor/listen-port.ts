import { createServer } from 'node:net'
import { setTimeout as elapsed } from 'node:timers/promises'

/** The fronts of a gateway that was killed a moment ago may be just about to let go of its port. */
const PATIENCE_MS = 2_000
const RETRY_MS = 50

/**
 * The port that the fronts will share: `port`, or a free one for 0. Rejects when somebody listens there already; the fronts
 * themselves could not tell, because their listeners share the port with anyone who offers to.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const endMs = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await tryPort(host, port)
    } catch (cause) {
      const error = cause as NodeJS.ErrnoException
      if (error.code !== 'EADDRINUSE' || Date.now() >= endMs) throw new Error(reasonOf(error, host, port), { cause })
    }
    await elapsed(RETRY_MS)
  }
}

function tryPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      const claimed = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => {
        resolve(claimed)
      })
    })
  })
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
