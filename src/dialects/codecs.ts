import type { ClientCodec, UpstreamCodec } from '../shared/core/codec.ts'
import type { WireDialect } from '../shared/core/conversation.ts'
import type { Dialect } from '../shared/core/dialect.ts'
import type { BodyDialectName, DialectName, UpstreamDialectName } from '../shared/core/endpoint.ts'
import { messagesCodec } from './anthropic-messages/codec.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { vertexMessagesCodec } from './anthropic-vertex/codec.ts'
import { converseCodec } from './bedrock-converse/codec.ts'
import { invokeCodec } from './bedrock-invoke/codec.ts'
import { cohereCodec } from './cohere-chat/codec.ts'
import { geminiCodec } from './gemini/codec.ts'
import { chatCodec } from './openai-chat/codec.ts'
import { openaiChat } from './openai-chat/index.ts'
import { responsesCodec } from './openai-responses/codec.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { SERVICE_BODIES } from './services/codecs.ts'

/** The parts of one dialect of conversations. Parts that nobody uses are absent. */
interface DialectParts {
  readonly client?: ClientCodec
  readonly upstream?: UpstreamCodec
  /** Handles the bodies of clients. Answers of upstreams that speak the same dialect pass unchanged. */
  readonly passThrough?: Dialect
}

type PartsOf<Name extends WireDialect> = DialectParts &
  (Name extends DialectName ? Required<Pick<DialectParts, 'client' | 'passThrough'>> : unknown) &
  (Name extends UpstreamDialectName ? Required<Pick<DialectParts, 'upstream'>> : unknown)

const DIALECTS: { readonly [Name in WireDialect]: PartsOf<Name> } = {
  'openai-chat': { client: chatCodec, upstream: chatCodec, passThrough: openaiChat },
  'openai-responses': { client: responsesCodec, passThrough: openaiResponses },
  'anthropic-messages': { client: messagesCodec, upstream: messagesCodec, passThrough: anthropicMessages },
  'anthropic-vertex': { upstream: vertexMessagesCodec },
  'bedrock-converse': { upstream: converseCodec },
  'bedrock-invoke': { upstream: invokeCodec },
  'cohere-chat': { upstream: cohereCodec },
  gemini: { upstream: geminiCodec },
}

const CLIENT_CODECS = partsNamed('client')
const UPSTREAM_CODECS = partsNamed('upstream')
const BODIES = { ...partsNamed('passThrough'), ...SERVICE_BODIES } as Readonly<Record<BodyDialectName, Dialect>>

/** Throws for a dialect that no upstream speaks. */
export function upstreamCodec(name: WireDialect): UpstreamCodec {
  return known(UPSTREAM_CODECS[name], name)
}

/** Throws for a dialect that no client speaks. */
export function clientCodec(name: WireDialect): ClientCodec {
  return known(CLIENT_CODECS[name], name)
}

export function dialectOf(name: BodyDialectName): Dialect {
  return BODIES[name]
}

function partsNamed<Part extends keyof DialectParts>(
  part: Part,
): Readonly<Partial<Record<WireDialect, NonNullable<DialectParts[Part]>>>> {
  const all = Object.entries(DIALECTS).map(([name, parts]: [string, DialectParts]) => [name, parts[part]] as const)
  return Object.fromEntries(all.filter(([, found]) => found !== undefined))
}

function known<Found>(codec: Found | undefined, name: WireDialect): Found {
  if (codec === undefined) throw new Error(`No codec for ${name}.`)
  return codec
}
