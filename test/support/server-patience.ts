import { WireClient } from './wire-client.ts'

/**
 * Waits as long as the server's own timeout for a request head: opens a connection with an incomplete head and resolves when the
 * server closes it. Rejects when the server does not.
 */
export async function serverPatience(port: number): Promise<void> {
  const client = await WireClient.connect(port)
  try {
    await client.send('GET /health/live HTTP/1.1\r\nHost: a\r\n').waitForClose()
  } finally {
    client.close()
  }
}
