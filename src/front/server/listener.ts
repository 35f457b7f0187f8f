import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Uws, us_listen_socket } from './uws.ts'

/** Paths of PEM files. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
}

/** One application of the library: a certificate, its listener, its connections. */
export interface Listener {
  readonly app: ReturnType<Uws['App']>
  socket: us_listen_socket | null
  connections: number
}

/** Rejects when the address is taken. */
export function listenWith(listener: Listener, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.app.listen(host, port, (socket) => {
      if (socket === false) reject(new Error(`cannot listen on ${host}:${port}`))
      else {
        listener.socket = socket
        resolve()
      }
    })
  })
}

/** Accepts no new connections. */
export async function stopListeningWith(uws: Uws, listener: Listener): Promise<void> {
  await quietTurn()
  if (listener.socket !== null) uws.us_listen_socket_close(listener.socket)
  listener.socket = null
}

/** A turn of the event loop without work is shorter than this. */
const QUIET_TURN_MS = 0.05
const QUIET_TURN_LIMIT_MS = 250

/**
 * Resolves at the end of a turn of the event loop without work, after `QUIET_TURN_LIMIT_MS` at the latest. When a listener
 * closes, the kernel resets its connections that wait for `accept`, unless it moves them to another listener
 * (`net.ipv4.tcp_migrate_req`). A turn accepts all waiting connections, and hardly any arrives in so short a time.
 */
async function quietTurn(): Promise<void> {
  const endMs = performance.now() + QUIET_TURN_LIMIT_MS
  for (;;) {
    const beganMs = performance.now()
    await nextTurn()
    const nowMs = performance.now()
    if (nowMs - beganMs < QUIET_TURN_MS || nowMs > endMs) return
  }
}

/** Adds the reason to the error of `SSLApp`, which has none. */
export function secureApp(uws: Uws, { certFile, keyFile }: Certificate): ReturnType<Uws['SSLApp']> {
  try {
    return uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile })
  } catch (cause) {
    throw new Error(`server.tls: ${certFile} and ${keyFile} are not a certificate and its key`, { cause })
  }
}
