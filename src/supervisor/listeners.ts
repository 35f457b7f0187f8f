import { readFileSync } from 'node:fs'

const LISTENING = '0A'

/** Whether a process on this machine listens on the port, of whatever address. */
export function isListenedOn(port: number): boolean {
  return listenersOn(port) > 0
}

/**
 * How many sockets of this machine listen on the port: several can, if each offers to share it. Looked up, not tried: a process that
 * listens for a moment resets the clients that connect meanwhile.
 */
export function listenersOn(port: number): number {
  return ['/proc/net/tcp', '/proc/net/tcp6'].reduce((sum, path) => sum + listenersIn(table(path), port), 0)
}

/** Each line after the first has: number, local address and port in hexadecimal, remote address and port, state. */
function listenersIn(text: string, port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return text.split('\n').filter((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === LISTENING && local?.endsWith(suffix) === true
  }).length
}

/** Empty when the system lacks this address family. */
function table(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw cause
  }
}
