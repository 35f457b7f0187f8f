import type { BufferedAnswer, UpstreamFailure } from '../../shared/core/dialect.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import { numberOrNull } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { encoded } from '../openai-embeddings/answer.ts'
import type { BuiltCalls, ServiceTarget, ServiceCodec, ServiceAnswerRules } from '../services/codec.ts'
import { byRules, otherFields, sizesOf } from '../services/fields.ts'
import { boundUsage } from '../common/token-count.ts'
import { brokenAnswer, failedAnswer, goodAnswer } from '../common/whole-answer.ts'
import type { EmbeddingsCodec, ParsedEmbeddings } from './codec.ts'

const KNOWN = new Set(['model', 'input', 'dimensions'])

/** Splits many inputs into calls of as many as the upstream takes, and joins their vectors. */
export function embeddingsService(codec: EmbeddingsCodec): ServiceCodec {
  return {
    path: (base, model) => codec.path(base, model),
    build: (request, ask) => build(codec, request, ask),
    read: (answers, reading) => read(codec, answers, reading),
  }
}

function build(codec: EmbeddingsCodec, request: JsonObject, { model, rules }: ServiceTarget): BuiltCalls {
  const inputs = inputsOf(request['input']).map((input) => carriedInput(input, codec))
  const sizes = sizesOf(inputs.length, Math.max(1, rules.maxPerCall ?? codec.maxInputs), 'input')
  const dimensions = numberOrNull(request['dimensions'])
  const encoding = encodingOf(request['encoding_format'])
  const others = otherFields(request, KNOWN)
  const dropped = new Set<string>()
  let from = 0
  const bodies = sizes.map((size) => {
    const ask = { model, inputs: inputs.slice(from, from + size), dimensions, encoding, others }
    from += size
    const built = codec.buildRequest(ask)
    const ruled = byRules(built.body, rules)
    for (const name of [...built.dropped, ...ruled.dropped]) dropped.add(name)
    return ruled.body
  })
  return { bodies, sizes, dropped: [...dropped] }
}

/** The input is a text, one array of tokens, or an array of either. */
function inputsOf(input: unknown): readonly unknown[] {
  return Array.isArray(input) && typeof input[0] !== 'number' ? (input as readonly unknown[]) : [input]
}

function carriedInput(input: unknown, { takesTokens, takesObjects }: EmbeddingsCodec): unknown {
  if (typeof input === 'string') return input
  if (Array.isArray(input)) {
    if (takesTokens) return input
    throw cannot('tokens, because it has another tokenizer')
  }
  const object = asObject(input)
  if (object !== null && typeof object['text'] === 'string' && Object.keys(object).length === 1) return object['text']
  if (object !== null && takesObjects) return object
  throw cannot('anything but texts')
}

function cannot(what: string): GatewayError {
  const message = `The provider of this model cannot be given ${what}. Send input as a string or an array of strings.`
  return new GatewayError('UNSUPPORTED_FIELD', { message, param: '/input' })
}

function encodingOf(format: unknown): 'float' | 'base64' | 'as-is' {
  if (format === undefined || format === null || format === 'float') return 'float'
  return format === 'base64' ? 'base64' : 'as-is'
}

function read(codec: EmbeddingsCodec, answers: readonly unknown[], reading: ServiceAnswerRules): BufferedAnswer {
  const encoding = reading.expected?.kind === 'embeddings' ? reading.expected.encoding : 'as-is'
  const data: JsonObject[] = []
  let counted: number | null = 0
  for (const [call, answer] of answers.entries()) {
    const parsed = codec.parseAnswer(answer)
    if (isFailure(parsed)) return failedAnswer(parsed)
    const { vectors, promptTokens } = parsed
    const inputs = reading.sizes[call] ?? 0
    if (vectors.length !== inputs) return brokenAnswer(null, `${vectors.length} embeddings for ${inputs} inputs`)
    for (const vector of vectors) {
      const embedding = isVector(vector) || encoding === 'as-is' ? encoded(vector, encoding) : null
      if (embedding === null) return brokenAnswer(null, 'an embedding is not a vector')
      data.push({ object: 'embedding', index: data.length, embedding })
    }
    counted = counted === null || promptTokens === null ? null : counted + promptTokens
  }
  const tokens = counted ?? reading.estimatedPromptTokens
  const usage = counted === null ? null : boundUsage({ ...emptyUsage(), promptTokens: counted })
  const body = { object: 'list', data, model: reading.model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
  return goodAnswer(usage, body)
}

function isFailure(parsed: ParsedEmbeddings | UpstreamFailure): parsed is UpstreamFailure {
  return !('vectors' in parsed)
}

function isVector(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  return Array.isArray(value) && value.length > 0 && value.every((number) => Number.isFinite(number))
}
