import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import { asObject } from '../common/json-value.ts'
import type { JsonObject } from '../common/json-value.ts'
import { readChatUsage } from '../openai-chat/usage.ts'
import { brokenAnswer, goodAnswer } from '../common/whole-answer.ts'

/** How images of each format begin, in base64. */
const BEGINNINGS = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
] as const

/**
 * Reads a buffered 200. Adds a `data:` URL to an image that came as bytes alone, unless the client asked for bytes. Throws
 * SyntaxError when it is not JSON.
 */
export function readAnswer(body: Buffer, request: AnswerRequest): BufferedAnswer {
  const value: unknown = JSON.parse(body.toString('utf8'))
  const answer = asObject(value)
  const data = answer?.['data']
  if (answer === null || answer['error'] || !Array.isArray(data) || data.length === 0) {
    return brokenAnswer(value, 'the answer has no images')
  }
  const pictures = data.map(asObject)
  if (!pictures.every(isPicture)) return brokenAnswer(null, 'an image has neither a URL nor bytes')
  const usage = readChatUsage(answer['usage'])
  const wantsUrl = request.expected?.kind === 'images' && request.expected.wantsUrl
  if (!wantsUrl || pictures.every(hasUrl)) return goodAnswer(usage, null)
  return goodAnswer(usage, { ...answer, data: pictures.map((picture) => withUrl(picture, answer['output_format'])) })
}

function isPicture(picture: JsonObject | null): picture is JsonObject {
  return picture !== null && (hasUrl(picture) || isText(picture['b64_json']))
}

function hasUrl(picture: JsonObject): boolean {
  return isText(picture['url'])
}

function withUrl(picture: JsonObject, format: unknown): JsonObject {
  const bytes = picture['b64_json']
  if (hasUrl(picture) || !isText(bytes)) return picture
  return { ...picture, url: `data:${mediaTypeOf(bytes, format)};base64,${bytes}` }
}

/** The media type of an image in base64. @param format the service's name of the format, used when the bytes do not tell */
export function mediaTypeOf(base64: string, format: unknown): string {
  const known = BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))
  if (known !== undefined) return known[1]
  return format === 'jpeg' || format === 'webp' ? `image/${format}` : 'image/png'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
