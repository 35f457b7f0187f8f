import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below what the kernel takes for connections and for port 0, together with the bus of a Redis Cluster, 10 000 above. */
const FIRST = 10_240
const LAST = 22_767
const ATTEMPTS = 100

/**
 * A port of the loopback address that nobody listens on, for programs that cannot look for one themselves. Only who asks for
 * that very number can take it before they do.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(FIRST, LAST + 1)
    if (await isFree(port)) return port
  }
  throw new Error('no free port')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE') resolve(false)
      else reject(cause)
    })
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => {
        resolve(true)
      })
    })
  })
}
