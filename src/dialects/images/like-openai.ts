import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { objects, put, textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { readChatUsage } from '../openai-chat/usage.ts'
import type { BuiltCall } from '../services/codec.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { ImagesAsk, ImagesCodec, ParsedImages, Picture } from './codec.ts'
import { nearestShape } from './shapes.ts'

/** The common part of hosts with nearly OpenAI's protocol. */
const like = (build: (ask: ImagesAsk) => BuiltCall, maxImages: number): ImagesCodec => ({
  path: (base) => `${base}/images/generations`,
  maxImages,
  buildRequest: build,
  parseAnswer,
})

export const openaiImageCalls: ImagesCodec = like(({ model, prompt, count, sizeText, format, others }) => {
  const body: Record<string, unknown> = { ...others, model, prompt, n: count }
  put(body, 'size', sizeText)
  put(body, 'response_format', format)
  return { body, dropped: [] }
}, 10)

/** Takes aspect ratios in place of sizes. */
export const xaiImages: ImagesCodec = like(({ model, prompt, count, size, format, others }) => {
  const body: Record<string, unknown> = { ...others, model, prompt, n: count }
  const shape = nearestShape(size, ['1:1', '3:4', '4:3', '9:16', '16:9', '2:3', '3:2', '1:2', '2:1'])
  put(body, 'aspect_ratio', shape?.name)
  put(body, 'response_format', format)
  return { body, dropped: shape === null || shape.exact ? [] : ['size'] }
}, 10)

export const togetherImages: ImagesCodec = like(({ model, prompt, count, size, format, others }) => {
  const body: Record<string, unknown> = { ...others, model, prompt, n: count, ...size }
  if (format !== null) body['response_format'] = format === 'url' ? 'url' : 'base64'
  return { body, dropped: [] }
}, 4)

export const siliconflowImages: ImagesCodec = like(({ model, prompt, count, size, others }) => {
  const body: Record<string, unknown> = { ...others, model, prompt, batch_size: count }
  if (size !== null) body['image_size'] = `${size.width}x${size.height}`
  return { body, dropped: [] }
}, 4)

function parseAnswer(value: unknown): ParsedImages | UpstreamFailure {
  const answer = asObject(value)
  const list = answer?.['data'] ?? answer?.['images']
  if (answer === null || answer['error'] || !Array.isArray(list))
    return brokenFailure(value, 'the answer has no images')
  const pictures = objects(list).flatMap((one): Picture[] => {
    const url = textOr(one['url'], '')
    const bytes = textOr(one['b64_json'], '')
    const revised = textOr(one['revised_prompt'], '')
    if (url === '' && bytes === '') return []
    return [
      {
        ...(url === '' ? {} : { url }),
        ...(bytes === '' ? {} : { b64_json: bytes }),
        ...(revised === '' ? {} : { revised_prompt: revised }),
      },
    ]
  })
  if (pictures.length === 0) return brokenFailure(value, 'no image has a URL or bytes')
  return { pictures, usage: readChatUsage(answer['usage']) }
}
