/* global fetch, performance */
import { parentPort, workerData } from 'node:worker_threads'

/*
 * Asks a gateway one thing after the other, in a thread of its own: what holds up the test does not hold up the clock. Tells the
 * milliseconds of all answers, which must be good ones, after so many or when it is told to stop.
 */

const { url, apiKey, most } = workerData
const took = []
let isOver = false
parentPort.once('message', () => (isOver = true))
while (!isOver && took.length < most) {
  const startedMs = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-gpt', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  took.push(performance.now() - startedMs)
}
parentPort.postMessage(took)
parentPort.close()
