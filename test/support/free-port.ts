import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Ports below the range that the kernel uses for connections and port 0; so are the ports 10 000 above, for the Redis Cluster bus. */
const FIRST = 10_240
const LAST = 22_767
const ATTEMPTS = 100

/**
 * A port of the loopback address without a listener, for programs that cannot choose one themselves. Another program can take it
 * first only when it asks for the same number.
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
