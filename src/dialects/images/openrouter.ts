import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import { objects, put, textOr } from '../common/fields.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { readChatUsage } from '../openai-chat/usage.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { ImagesCodec, ParsedImages, Picture } from './codec.ts'
import { nearestShape } from './shapes.ts'

/** Images come as answers of a conversation, one for each call. */
export const openrouterImages: ImagesCodec = {
  path: (base) => `${base}/chat/completions`,
  maxImages: 1,
  buildRequest({ model, prompt, size, others }) {
    const body: Record<string, unknown> = {
      ...others,
      model,
      messages: [{ role: 'user', content: prompt }],
      modalities: ['image', 'text'],
    }
    const shape = nearestShape(size, ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'])
    if (shape !== null) put(body, 'image_config', { aspect_ratio: shape.name })
    return { body, dropped: shape === null || shape.exact ? [] : ['size'] }
  },
  parseAnswer,
}

function parseAnswer(value: unknown): ParsedImages | UpstreamFailure {
  const answer = asObject(value)
  if (answer === null || answer['error']) return brokenFailure(value, 'the answer has no images')
  const message = asObject(objects(answer['choices'])[0]?.['message'])
  const pictures = objects(message?.['images']).flatMap((one): Picture[] => {
    const url = textOr(valueAt(one, 'image_url', 'url'), '')
    return url === '' ? [] : [{ url }]
  })
  // A text in place of an image tells why there is none.
  if (pictures.length === 0) {
    const said = textOr(message?.['content'], '')
    return { message: said === '' ? 'the answer has no images' : said, type: 'invalid_answer' }
  }
  return { pictures, usage: readChatUsage(answer['usage']) }
}
