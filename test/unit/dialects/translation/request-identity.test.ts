import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../../src/shared/core/endpoint.ts'
import { clientCodec, upstreamCodec } from '../../../../src/dialects/codecs.ts'
import { withoutNulls } from '../../../support/plain-json.ts'
import type { Json } from '../../../support/plain-json.ts'
import { loadFixtures } from '../../../support/recorded-fixtures.ts'

/** The request as parsing and building within its dialect leave it. */
function rebuild(dialect: DialectName, request: Json): Json {
  const codec = upstreamCodec(dialect)
  const { body } = codec.buildRequest(clientCodec(dialect).parseRequest(request), {
    ...codec.defaultTarget,
    model: request.model,
    stream: request.stream === true,
    maxTokensField: request.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens',
  })
  return body
}

/**
 * What means the same: null and absent, one stop sequence and a list of it, no stream and `false`, an empty text and none in
 * the place of content, empty lists and none, a vendor's or an older name and today's. Usage is always asked of streams.
 */
function canonical(request: Json): Json {
  const copy = withoutNulls(request)
  if (typeof copy.stop === 'string') copy.stop = [copy.stop]
  if (copy.stream === false) delete copy.stream
  delete copy.stream_options
  if (copy.tool_choice === 'any') copy.tool_choice = 'required'
  if (copy.output_format) {
    copy.output_config = { ...copy.output_config, format: copy.output_format }
    delete copy.output_format
  }
  for (const name of ['tools', 'stop', 'stop_sequences']) if (copy[name]?.length === 0) delete copy[name]
  for (const message of copy.messages) {
    if (message.content === '') delete message.content
    if (message.reasoning_content === '' || message.reasoning === '') {
      delete message.reasoning_content
      delete message.reasoning
    }
    if (message.tool_calls?.length === 0) delete message.tool_calls
    for (const block of Array.isArray(message.content) ? message.content : []) {
      if (typeof block.image_url === 'string') block.image_url = { url: block.image_url }
      if (block.is_error === false) delete block.is_error
      if (block.content === '' || block.content?.length === 0) delete block.content
      if (block.citations?.length === 0) delete block.citations
    }
  }
  return copy
}

describe('recorded requests', () => {
  it.each(['openai-chat', 'anthropic-messages'] as const)('stay what they are within their dialect (%s)', (dialect) => {
    const fixtures = loadFixtures((fixture) => fixture.protocol === dialect && fixture.hasRequest)
    let compared = 0
    for (const fixture of fixtures) {
      const request: Json = JSON.parse((fixture.request ?? '').toString('utf8'))
      if (!Array.isArray(request.messages)) continue
      expect(canonical(rebuild(dialect, request)), fixture.id).toEqual(canonical(request))
      compared++
    }
    console.log(`${dialect}: ${compared} of ${fixtures.length} requests compared`)
    expect(compared).toBeGreaterThan(dialect === 'openai-chat' ? 290 : 115)
  })
})
