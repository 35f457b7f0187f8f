import type { AnswerRequest, BufferedAnswer } from '../../core/dialect.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { dataUrl } from '../data-url.ts'
import { objects, textOr } from '../fields.ts'
import { asObject, valueAt } from '../json-value.ts'
import { failedAnswer, geminiFailure } from '../gemini/errors.ts'
import { GeminiUsage } from '../gemini/usage.ts'
import { goodAnswer } from '../whole-answer.ts'

/**
 * Reads a 200 of Imagen's predict or of generateContent, and brings it to the shape of an images answer. Pictures that the
 * service kept back are missing; when it kept all of them that is a failure. @param created Unix time in seconds
 */
export function readImages(value: unknown, request: AnswerRequest, created: number): BufferedAnswer {
  const answer = asObject(value) ?? {}
  if (answer['error']) return failedAnswer(geminiFailure(value))
  const wantsUrl = request.expected?.kind === 'images' && request.expected.wantsUrl
  const data: JsonObject[] = []
  for (const { bytes, type } of [...predictions(answer), ...parts(answer)]) {
    data.push({ b64_json: bytes, ...(wantsUrl ? { url: dataUrl(type, bytes) } : null) })
  }
  if (data.length === 0) {
    return failedAnswer({ message: reasonOf(answer), type: 'no_image' })
  }
  const usage = new GeminiUsage()
  usage.apply(asObject(answer['usageMetadata']) ?? {})
  return goodAnswer(usage.read(), { created, data })
}

interface Picture {
  readonly bytes: string
  readonly type: string
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
  return typeof bytes === 'string' && bytes !== '' ? [{ bytes, type: textOr(type, 'image/png') }] : []
}

/** Why there is nothing to see, as far as the service says. */
function reasonOf(answer: JsonObject): string {
  const filtered = objects(answer['predictions']).find((one) => typeof one['raiFilteredReason'] === 'string')
  const candidate = objects(answer['candidates'])[0]
  return (
    textOr(filtered?.['raiFilteredReason'], '') ||
    textOr(candidate?.['finishMessage'], '') ||
    textOr(candidate?.['finishReason'], '') ||
    textOr(valueAt(answer, 'promptFeedback', 'blockReason'), '')
  )
}
