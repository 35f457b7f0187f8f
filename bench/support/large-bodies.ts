import { setTimeout as elapsed } from 'node:timers/promises'
import type { Program } from './programs.ts'
import { TRANSLATED_MODEL } from './programs.ts'

const LARGE_BYTES = 2 * 1024 * 1024
/** Between an answer and the next request. */
const PAUSE_MS = 100

/** Does `work` while one client sends large conversations, one after the other, to an upstream of another dialect. */
export async function besideLargeBodies<Result>(program: Program, work: () => Promise<Result>): Promise<Result> {
  const content = 'The quick brown fox jumps over the lazy dog, "again" and\nagain. '.repeat(6)
  const turns = Math.ceil(LARGE_BYTES / (content.length + 40) / 2)
  const history = Array.from({ length: turns }, () => [
    { role: 'user', content },
    { role: 'assistant', content },
  ])
  const body = JSON.stringify({ model: TRANSLATED_MODEL, messages: [...history.flat(), { role: 'user', content }] })
  const stop = new AbortController()
  const send = async (): Promise<number> => {
    let answered = 0
    while (!stop.signal.aborted) {
      const headers = { 'content-type': 'application/json', ...program.headers }
      const answer = await fetch(`${program.baseUrl}/chat/completions`, { method: 'POST', headers, body })
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`${answer.status} for a large body`)
      answered++
      await elapsed(PAUSE_MS)
    }
    return answered
  }
  const sending = send()
  const result = await work().finally(() => {
    stop.abort()
  })
  if ((await sending) === 0) throw new Error('no large body was answered')
  return result
}
