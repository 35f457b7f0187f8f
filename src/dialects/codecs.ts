import type { ClientCodec, UpstreamCodec } from '../shared/core/codec.ts'
import type { WireDialect } from '../shared/core/conversation.ts'
import { messagesCodec } from './anthropic-messages/codec.ts'
import { vertexMessagesCodec } from './anthropic-vertex/codec.ts'
import { invokeCodec } from './bedrock-invoke/codec.ts'
import { geminiCodec } from './gemini/codec.ts'
import { converseCodec } from './bedrock-converse/codec.ts'
import { cohereCodec } from './cohere-chat/codec.ts'
import { chatCodec } from './openai-chat/codec.ts'
import { responsesCodec } from './openai-responses/codec.ts'

const UPSTREAM_CODECS: Readonly<Partial<Record<WireDialect, UpstreamCodec>>> = {
  'openai-chat': chatCodec,
  'anthropic-messages': messagesCodec,
  'anthropic-vertex': vertexMessagesCodec,
  gemini: geminiCodec,
  'bedrock-converse': converseCodec,
  'bedrock-invoke': invokeCodec,
  'cohere-chat': cohereCodec,
}

const CLIENT_CODECS: Readonly<Partial<Record<WireDialect, ClientCodec>>> = {
  'openai-chat': chatCodec,
  'openai-responses': responsesCodec,
  'anthropic-messages': messagesCodec,
}

/** Throws for a dialect that no upstream is spoken to in. */
export function upstreamCodec(name: WireDialect): UpstreamCodec {
  return known(UPSTREAM_CODECS[name], name)
}

/** Throws for a dialect that no client speaks. */
export function clientCodec(name: WireDialect): ClientCodec {
  return known(CLIENT_CODECS[name], name)
}

function known<Found>(codec: Found | undefined, name: WireDialect): Found {
  if (codec === undefined) throw new Error(`No codec for ${name}.`)
  return codec
}
