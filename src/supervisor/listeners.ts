import { readFileSync } from 'node:fs'

const LISTENING = '0A'

/**
 * Whether anybody on this machine listens on the port, of whatever address. Looked up, not tried: who listens for a moment resets
 * whoever connects meanwhile.
 */
export function isListenedOn(port: number): boolean {
  return ['/proc/net/tcp', '/proc/net/tcp6'].some((path) => listensIn(table(path), port))
}

/** The lines after the first: number, local address and port in hexadecimal, remote address and port, state. */
function listensIn(text: string, port: number): boolean {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return text.split('\n').some((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === LISTENING && local?.endsWith(suffix) === true
  })
}

/** Empty where the system has no such addresses. */
function table(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw cause
  }
}
