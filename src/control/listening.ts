import type { Server } from 'node:http'

/** Resolves once the server listens; rejects when the address is taken. `onFault` hears of what fails later. */
export function listening(
  server: Server,
  { host, port, onFault }: { readonly host: string; readonly port: number; readonly onFault: (cause: unknown) => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', onFault)
      resolve()
    })
  })
}
