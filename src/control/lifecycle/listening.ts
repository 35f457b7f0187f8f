import type { Server } from 'node:http'

interface ListeningOptions {
  readonly host: string
  readonly port: number
  readonly onFault: (cause: unknown) => void
}

/**
 * Resolves once the server listens; rejects when the address is taken. Later failures go to `onFault`.
 * @param setting the configuration key of the port
 */
export function listening(server: Server, setting: string, { host, port, onFault }: ListeningOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      reject(new Error(`${setting}: cannot listen on ${host}:${port}: ${cause.message}`, { cause }))
    }
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      server.on('error', onFault)
      resolve()
    })
  })
}
