import { describe, expect, it } from 'vitest'
import { boundedEvents, OutgoingStream } from '../../../src/control/mcp/outgoing-stream.ts'

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk.toString()
  return text
}

describe('a stream to a client', () => {
  it('hands out what was pushed, in order, up to its end', async () => {
    let ends = 0
    const stream = new OutgoingStream(() => ends++)
    const read = textOf(stream)
    stream.push(Buffer.from('a'))
    stream.push(Buffer.from('b'))
    stream.end()
    stream.push(Buffer.from('c'))
    expect([await read, ends]).toEqual(['ab', 1])
  })

  it('ends when the client lags too far behind', async () => {
    let ends = 0
    const stream = new OutgoingStream(() => ends++)
    for (let count = 0; count < 17; count++) stream.push(Buffer.alloc(1024 * 1024))
    expect([stream.isOver, ends]).toEqual([true, 1])
    expect(await textOf(stream)).toBe('')
  })

  it('ends when its reader stops', async () => {
    let ends = 0
    const stream = new OutgoingStream(() => ends++)
    stream.push(Buffer.from('a'))
    const reader = stream[Symbol.asyncIterator]()
    expect(await reader.next()).toMatchObject({ done: false })
    await reader.return?.(undefined)
    expect([stream.isOver, ends]).toEqual([true, 1])
  })
})

describe('events of a source', () => {
  it('begin at once, and end with the source or with the client', async () => {
    const source = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Buffer.from('data: 1\n\n'))
        controller.close()
      },
    })
    let ends = 0
    const stream = boundedEvents(source, new AbortController().signal, () => ends++)
    expect([await textOf(stream), ends]).toEqual([': open\n\ndata: 1\n\n', 1])
    let isCancelled = false
    const endless = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true
      },
    })
    const client = new AbortController()
    const waiting = textOf(boundedEvents(endless, client.signal, () => undefined))
    client.abort()
    expect([await waiting, isCancelled]).toEqual([': open\n\n', true])
  })
})
