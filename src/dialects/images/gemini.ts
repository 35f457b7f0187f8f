import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, put, textOr } from '../common/fields.ts'
import { googlePath } from '../gemini/address.ts'
import { geminiFailure } from '../gemini/errors.ts'
import { GeminiUsage } from '../gemini/usage.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import type { BuiltCall } from '../services/codec.ts'
import { carry } from '../services/fields.ts'
import type { ImagesAsk, ImagesCodec, ParsedImages, Picture } from './codec.ts'
import { nearestShape } from './shapes.ts'
import type { Shape } from './shapes.ts'

/** Models that answer with images, one for each call. */
export const geminiImages: ImagesCodec = {
  path: (base, model) => googlePath(base, model, 'generateContent'),
  maxImages: 1,
  buildRequest: buildContent,
  parseAnswer,
}

export const imagen: ImagesCodec = {
  path: (base, model) => googlePath(base, model, 'predict'),
  maxImages: 4,
  buildRequest: buildPredict,
  parseAnswer,
}

function buildContent({ prompt, size, others }: ImagesAsk): BuiltCall {
  const shape = nearestShape(size, ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'])
  const generationConfig: Record<string, unknown> = { responseModalities: ['TEXT', 'IMAGE'] }
  if (shape !== null) generationConfig['imageConfig'] = { aspectRatio: shape.name }
  const body = { contents: [{ role: 'user', parts: [{ text: prompt }] }], generationConfig }
  return { body, dropped: droppedOf(others, {}, {}, shape) }
}

function buildPredict({ prompt, count, size, others }: ImagesAsk): BuiltCall {
  const shape = nearestShape(size, ['1:1', '3:4', '4:3', '9:16', '16:9'])
  const parameters: Record<string, unknown> = { sampleCount: count }
  put(parameters, 'aspectRatio', shape?.name)
  const dropped = droppedOf(others, parameters, { negative_prompt: 'negativePrompt' }, shape)
  return { body: { instances: [{ prompt }], parameters }, dropped }
}

function droppedOf(
  others: JsonObject,
  into: Record<string, unknown>,
  names: Readonly<Record<string, string>>,
  shape: Shape | null,
): readonly string[] {
  const dropped = carry(others, into, names)
  // The service has aspect ratios, not sizes: the request asked for the nearest ratio.
  return shape === null || shape.exact ? dropped : [...dropped, 'size']
}

/** Parses an answer of predict or generateContent. Images that a filter withheld are missing; it is a failure when all are. */
function parseAnswer(value: unknown): ParsedImages | UpstreamFailure {
  const answer = asObject(value) ?? {}
  if (answer['error']) return geminiFailure(value)
  const pictures = [...predictions(answer), ...parts(answer)]
  if (pictures.length === 0) return withheld(answer)
  const usage = new GeminiUsage()
  usage.apply(asObject(answer['usageMetadata']) ?? {})
  return { pictures, usage: usage.read() }
}

function predictions(answer: JsonObject): Picture[] {
  return objects(answer['predictions']).flatMap((one) => picture(one['bytesBase64Encoded'], one['mimeType']))
}

function parts(answer: JsonObject): Picture[] {
  const found: Picture[] = []
  for (const candidate of objects(answer['candidates'])) {
    for (const part of objects(valueAt(candidate, 'content', 'parts'))) {
      const data = asObject(part['inlineData'])
      if (data !== null && part['thought'] !== true) found.push(...picture(data['data'], data['mimeType']))
    }
  }
  return found
}

function picture(bytes: unknown, type: unknown): Picture[] {
  if (typeof bytes !== 'string' || bytes === '') return []
  return [{ b64_json: bytes, mediaType: textOr(type, 'image/png') }]
}

/** A filter's reason concerns the request: another key would not help. */
function withheld(answer: JsonObject): UpstreamFailure {
  const filtered = objects(answer['predictions']).find((one) => typeof one['raiFilteredReason'] === 'string')
  const candidate = objects(answer['candidates'])[0]
  const reason =
    textOr(filtered?.['raiFilteredReason'], '') ||
    textOr(candidate?.['finishMessage'], '') ||
    textOr(candidate?.['finishReason'], '') ||
    textOr(valueAt(answer, 'promptFeedback', 'blockReason'), '')
  if (reason === '') return { message: 'the answer has no images', type: 'invalid_answer' }
  return { message: `No image was made: ${reason}`, type: 'invalid_request_error' }
}
