import { setPriority } from 'node:os'
import { setTimeout as elapsed } from 'node:timers/promises'
import type { LoadTarget } from './load-client.ts'
import { TRANSLATED_MODEL } from './programs.ts'

/*
 * Sends large conversations, one after the other, to an upstream of another dialect. It is a separate process of lower priority than
 * the measured and the measuring processes, so that its own CPU use does not count as an effect of the gateway.
 */

const LARGE_BYTES = 2 * 1024 * 1024
/** Pause between an answer and the next request. */
const PAUSE_MS = 100
const NICENESS = 10

setPriority(NICENESS)

process.once('message', (target) => {
  const stop = new AbortController()
  process.once('message', () => {
    stop.abort()
  })
  send(target as LoadTarget, stop.signal).then(
    (answered) => process.send?.({ answered }, () => process.disconnect()),
    (cause: unknown) => {
      console.error(cause)
      process.exit(1)
    },
  )
})

async function send({ baseUrl, headers }: LoadTarget, stop: AbortSignal): Promise<number> {
  const body = largeConversation()
  let answered = 0
  while (!stop.aborted) {
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`${answer.status} for a large body`)
    answered++
    await elapsed(PAUSE_MS)
  }
  return answered
}

function largeConversation(): string {
  const content = 'The quick brown fox jumps over the lazy dog, "again" and\nagain. '.repeat(6)
  const turns = Math.ceil(LARGE_BYTES / (content.length + 40) / 2)
  const history = Array.from({ length: turns }, () => [
    { role: 'user', content },
    { role: 'assistant', content },
  ])
  return JSON.stringify({ model: TRANSLATED_MODEL, messages: [...history.flat(), { role: 'user', content }] })
}
