import { createServer } from 'node:net'

/**
 * The port that the fronts will share: `port`, or a free one for 0. Rejects when somebody listens there already; the fronts
 * themselves could not tell, because their listeners share the port with anyone who offers to.
 */
export function claimPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(new Error(reasonOf(cause, host, port), { cause }))
    })
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
