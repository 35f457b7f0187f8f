/*
 * A program: an upstream whose streams stay open until its parent ends them. It answers each request with one event at once.
 * The parent's message `{ texts }` sends an event for each text to every open stream; `{ end: true }` ends all streams.
 */
import { createServer } from 'node:http'

const FINISH =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
  'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n' +
  'data: [DONE]\n\n'

let requests = 0
const open = new Set()

function eventOf(text) {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`
}

const server = createServer((request, response) => {
  requests += 1
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(eventOf('first'))
    open.add(response)
    response.on('close', () => open.delete(response))
  })
})
server.listen(0, '127.0.0.1', 4_096, () => {
  process.send({ port: server.address().port })
})

process.on('message', ({ texts, end }) => {
  for (const response of open) {
    if (end === true) response.end(FINISH)
    else for (const text of texts) response.write(eventOf(text))
  }
  process.send({ requests })
})
process.on('disconnect', () => process.exit(0))
