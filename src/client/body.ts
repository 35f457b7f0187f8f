import type { Attempt } from './attempt.ts'
import { SluiceError } from './errors.ts'

const MAX_TEXT_BYTES = 256 * 1024 * 1024

/** Yields the bytes of an answer as they arrive. Ends the attempt at the end of the body, and when the reader stops early. */
export async function* bytesOf(response: Response, attempt: Attempt): AsyncGenerator<Uint8Array, void> {
  const reader = readerOf(response)
  try {
    for (;;) {
      attempt.rearm()
      const read = await reader?.read()
      attempt.pause()
      if (read?.value === undefined) return
      yield read.value
    }
  } catch (cause) {
    throw attempt.meaningOf(cause)
  } finally {
    attempt.end()
  }
}

/** Reads the whole answer as text, within the attempt's timeout. Rejects with SluiceError beyond 256 MiB. */
export async function textOf(response: Response, attempt: Attempt, maxBytes: number = MAX_TEXT_BYTES): Promise<string> {
  const decoder = new TextDecoder()
  const reader = readerOf(response)
  let text = ''
  let size = 0
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    size += read.value.byteLength
    if (size > maxBytes) throw new SluiceError(`The answer is longer than ${maxBytes} bytes.`)
    text += decoder.decode(read.value, { stream: true })
  }
  attempt.end()
  return text + decoder.decode()
}

function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> | undefined {
  return (body as ReadableStream<Uint8Array> | null)?.getReader()
}
