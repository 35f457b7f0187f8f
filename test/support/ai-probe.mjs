/* global fetch, performance */
import { parentPort, workerData } from 'node:worker_threads'

/*
 * Sends requests to a gateway one after the other, in a separate thread: a blocked test thread does not change the latencies. Sends
 * the latencies in milliseconds after `most` answers, or when it is stopped. Every answer must be a success.
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
