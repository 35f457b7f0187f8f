import { put, textOr } from '../common/fields.ts'
import { nearestShape } from '../images/shapes.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import { carry } from '../services/fields.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { VideoCodec } from './codec.ts'
import { jobOf, lookAt } from './job.ts'
import { refuseMedia, resolutionOf } from './request.ts'

/** ByteDance's Ark (Seedance). */
export const arkVideos: VideoCodec = {
  protocol: 'ark-videos',
  path: (base) => `${base}/contents/generations/tasks`,
  buildRequest({ model, prompt, size, seconds, others }) {
    refuseMedia(others)
    const body: Record<string, unknown> = { model, content: [{ type: 'text', text: prompt }] }
    const shape = nearestShape(size, ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'])
    put(body, 'ratio', shape?.name)
    if (size !== null) body['resolution'] = resolutionOf(size, [480, 720, 1080])
    put(body, 'duration', seconds)
    const dropped = carry(others, body, { seed: 'seed', watermark: 'watermark', camera_fixed: 'camera_fixed' })
    return { body, dropped: shape === null || shape.exact ? dropped : [...dropped, 'size'] }
  },
  parseCreation(answer) {
    const id = textOr(asObject(answer)?.['id'], '')
    return id === '' || asObject(answer)?.['error'] ? brokenFailure(answer, 'no task') : id
  },
  lookPath: (base, id) => `${base}/contents/generations/tasks/${encodeURIComponent(id)}`,
  parseLook(answer) {
    return jobOf({ word: lookAt(answer)['status'], about: answer, source: valueAt(answer, 'content', 'video_url') })
  },
}
