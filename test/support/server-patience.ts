import { WireClient } from './wire-client.ts'

/**
 * Resolves when a connection opened now, whose head never ends, has been cut: so long the server's own timer waits for anyone. Rejects
 * when that does not happen.
 */
export async function serverPatience(port: number): Promise<void> {
  const client = await WireClient.connect(port)
  try {
    await client.send('GET /health/live HTTP/1.1\r\nHost: a\r\n').waitForClose()
  } finally {
    client.close()
  }
}
