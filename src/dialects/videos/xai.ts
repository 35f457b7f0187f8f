import { put, textOr } from '../common/fields.ts'
import { nearestShape } from '../images/shapes.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { VideoCodec } from './codec.ts'
import { jobOf, lookAt, refusedJob } from './job.ts'
import { resolutionOf } from './request.ts'

export const xaiVideos: VideoCodec = {
  protocol: 'xai-videos',
  path: (base) => `${base}/videos/generations`,
  buildRequest({ model, prompt, size, seconds, others }) {
    const body: Record<string, unknown> = { ...others, model, prompt }
    const shape = nearestShape(size, ['16:9', '4:3', '1:1', '9:16', '3:4', '3:2', '2:3'])
    put(body, 'aspect_ratio', shape?.name)
    if (size !== null) body['resolution'] = resolutionOf(size, [480, 720])
    put(body, 'duration', seconds)
    return { body, dropped: shape === null || shape.exact ? [] : ['size'] }
  },
  parseCreation(answer) {
    const id = textOr(asObject(answer)?.['request_id'], '')
    return id === '' ? brokenFailure(answer, 'no job') : id
  },
  lookPath: (base, id) => `${base}/videos/${encodeURIComponent(id)}`,
  parseLook(answer) {
    const { status, progress } = lookAt(answer)
    const source = valueAt(answer, 'video', 'url')
    if (valueAt(answer, 'video', 'respect_moderation') === false) return refusedJob('The video was withheld.')
    // A video in the answer means the same as the status `done`.
    const word = status ?? (typeof source === 'string' ? 'done' : 'pending')
    return jobOf({ word, progress, about: answer, source })
  },
}
