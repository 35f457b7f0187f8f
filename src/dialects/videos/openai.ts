import { textOr } from '../common/fields.ts'
import { asObject } from '../common/json-value.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { VideoCodec } from './codec.ts'
import { jobOf, lookAt } from './job.ts'

export const openaiVideoJobs: VideoCodec = {
  protocol: 'openai-videos',
  path: (base) => `${base}/videos`,
  buildRequest({ model, prompt, size, seconds, others }) {
    const body: Record<string, unknown> = { model, prompt }
    if (size !== null) body['size'] = `${size.width}x${size.height}`
    if (seconds !== null) body['seconds'] = String(seconds)
    return { body: { ...body, ...others }, dropped: [] }
  },
  parseCreation(answer) {
    const id = textOr(asObject(answer)?.['id'], '')
    return id === '' || asObject(answer)?.['error'] ? brokenFailure(answer, 'no job') : id
  },
  lookPath: (base, id) => `${base}/videos/${encodeURIComponent(id)}`,
  parseLook(answer) {
    const { status, progress } = lookAt(answer)
    return jobOf({ word: status, progress, about: answer })
  },
  contentPath: (base, id) => `${base}/videos/${encodeURIComponent(id)}/content`,
}
