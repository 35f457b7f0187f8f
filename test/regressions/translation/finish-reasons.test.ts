import { describe, expect, it } from 'vitest'
import { isFailure } from '../../../src/shared/core/codec.ts'
import { dialectOf, upstreamCodec } from '../../../src/dialects/codecs.ts'
import { SseSplitter } from '../../../src/shared/wire/sse.ts'
import { chatStream, decodeStream, finishChunk, seenByMessagesClient } from '../../support/translation.ts'

const DONE = Buffer.from('data: [DONE]\n\n')
const FAILED = ['error', 'insufficient_system_resource', 'network_error', 'abort']
const TOLD = { error: { code: 502, message: 'The model has crashed.' } }

function streamEndingWith(finish: string, choice: object = {}): Buffer {
  const last = { choices: [{ index: 0, delta: { content: '' }, finish_reason: finish, ...choice }] }
  return Buffer.concat([chatStream([{ content: 'Half an ans' }], last), DONE])
}

function wholeEndingWith(finish: string): object {
  return { id: 'c', choices: [{ index: 0, message: { content: 'Half an ans' }, finish_reason: finish, ...TOLD }] }
}

/** The verdicts on a stream that is passed on as it is. */
function verdicts(stream: Buffer): string[] {
  const inspector = dialectOf('openai-chat').inspectStream(true)
  const seen: string[] = []
  const splitter = new SseSplitter()
  splitter.split(stream, (bytes, start, end) => {
    seen.push(inspector.inspect(bytes, start, end))
    return true
  })
  return seen
}

describe.each(FAILED)('an answer of a chat host that ends with %s', (finish) => {
  it('is a failure when it is translated', () => {
    expect(decodeStream('openai-chat', [streamEndingWith(finish)]).at(-1)).toMatchObject({
      type: 'error',
      failure: { type: finish },
    })
    expect(isFailure(upstreamCodec('openai-chat').parseAnswer(wholeEndingWith(finish)))).toBe(true)
  })

  it('is a failure when it is passed on', () => {
    expect(verdicts(streamEndingWith(finish))).toContain('error')
    const { failure } = dialectOf('openai-chat').readAnswer(Buffer.from(JSON.stringify(wholeEndingWith(finish))), {
      estimatedPromptTokens: 1,
    } as never)
    expect(failure?.message).toBe(TOLD.error.message)
  })
})

it('has the message of the host', () => {
  const last = decodeStream('openai-chat', [streamEndingWith('error', TOLD)]).at(-1)
  expect(last).toMatchObject({ failure: { message: TOLD.error.message, type: '502' } })
})

it.each(['model_length', 'max_tokens', 'MAX_TOKENS'])('%s is the limit of tokens', (finish) => {
  const stream = Buffer.concat([chatStream([{ content: 'x' }], finishChunk(finish)), DONE])
  expect(seenByMessagesClient(stream).stop).toBe('max_tokens')
})
