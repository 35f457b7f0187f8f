import type { BufferedAnswer, UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import type { Usage } from '../../shared/core/usage.ts'
import { dataUrl, sourceOfUrl } from '../common/data-url.ts'
import { numberOrNull, textOr } from '../common/fields.ts'
import { mediaTypeOf } from '../openai-images/answer.ts'
import type { BuiltCalls, ServiceTarget, ServiceCodec, ServiceAnswerRules } from '../services/codec.ts'
import { byRules, otherFields, sizesOf } from '../services/fields.ts'
import { boundUsage } from '../common/token-count.ts'
import { brokenAnswer, failedAnswer, goodAnswer } from '../common/whole-answer.ts'
import type { ImagesCodec, ParsedImages, Picture } from './codec.ts'
import { sizeOf } from './shapes.ts'

const KNOWN = new Set(['model', 'prompt', 'n', 'size', 'response_format', 'stream'])

/** Splits the images into calls of as many as the upstream makes at a time. */
export function imagesService(codec: ImagesCodec): ServiceCodec {
  return {
    path: (base, model) => codec.path(base, model),
    build: (request, ask) => build(codec, request, ask),
    read: (answers, reading) => read(codec, answers, reading),
  }
}

function build(codec: ImagesCodec, request: JsonObject, { model, rules }: ServiceTarget): BuiltCalls {
  const sizes = sizesOf(numberOrNull(request['n']) ?? 1, Math.max(1, rules.maxPerCall ?? codec.maxImages), 'n')
  const asked = {
    model,
    prompt: textOr(request['prompt'], ''),
    size: sizeOf(request['size']),
    sizeText: textOr(request['size'], null),
    format: formatOf(request['response_format']),
    others: otherFields(request, KNOWN),
  }
  const dropped = new Set<string>()
  const bodies = sizes.map((count) => {
    const built = codec.buildRequest({ ...asked, count })
    const ruled = byRules(built.body, rules)
    for (const name of [...built.dropped, ...ruled.dropped]) dropped.add(name)
    return ruled.body
  })
  return { bodies, sizes, dropped: [...dropped] }
}

function formatOf(format: unknown): 'url' | 'b64_json' | null {
  return format === 'url' || format === 'b64_json' ? format : null
}

function read(codec: ImagesCodec, answers: readonly unknown[], reading: ServiceAnswerRules): BufferedAnswer {
  const wantsUrl = reading.expected?.kind !== 'images' || reading.expected.wantsUrl
  const data: JsonObject[] = []
  let usage: Usage | null = null
  let isCounted = true
  for (const answer of answers) {
    const parsed = codec.parseAnswer(answer)
    if (isFailure(parsed)) return failedAnswer(parsed)
    data.push(...parsed.pictures.map((picture) => shaped(picture, wantsUrl)))
    if (parsed.usage === null) isCounted = false
    else usage = sum(usage, parsed.usage)
  }
  if (data.length === 0) return brokenAnswer(null, 'the answer has no images')
  return goodAnswer(isCounted ? usage : null, { created: reading.created, data })
}

/** Returns bytes when the client asked for them. Else returns a URL, which is a `data:` URL when there is no other. */
function shaped({ mediaType, ...picture }: Picture, wantsUrl: boolean): JsonObject {
  const { url, b64_json: bytes } = picture
  if (wantsUrl) {
    if (url !== undefined || bytes === undefined) return picture
    return { ...picture, url: dataUrl(mediaType ?? mediaTypeOf(bytes, null), bytes) }
  }
  if (bytes !== undefined || url === undefined) return picture
  const source = sourceOfUrl(url)
  if (source.kind !== 'base64') return picture
  const { url: replaced, ...rest } = picture
  return { ...rest, b64_json: source.data }
}

function sum(a: Usage | null, b: Usage): Usage {
  if (a === null) return b
  return boundUsage({
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  })
}

function isFailure(parsed: ParsedImages | UpstreamFailure): parsed is UpstreamFailure {
  return !('pictures' in parsed)
}
