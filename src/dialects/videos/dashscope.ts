import { textOr } from '../common/fields.ts'
import { valueAt } from '../common/json-value.ts'
import { carry } from '../services/fields.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { VideoCodec } from './codec.ts'
import { jobOf, lookAt } from './job.ts'
import { refuseMedia } from './request.ts'

/** Alibaba's own protocol, not the one that other services share. */
export const dashscopeVideos: VideoCodec = {
  protocol: 'dashscope-videos',
  path: (base) => `${base}/api/v1/services/aigc/video-generation/video-synthesis`,
  headers: ['x-dashscope-async', 'enable'],
  buildRequest({ model, prompt, size, seconds, others }) {
    refuseMedia(others)
    const input: Record<string, unknown> = { prompt }
    const parameters: Record<string, unknown> = {}
    if (size !== null) parameters['size'] = `${size.width}*${size.height}`
    if (seconds !== null) parameters['duration'] = seconds
    const { negative_prompt: negative, ...rest } = others
    if (negative !== undefined) input['negative_prompt'] = negative
    const dropped = carry(rest, parameters, { seed: 'seed', watermark: 'watermark', prompt_extend: 'prompt_extend' })
    return { body: { model, input, parameters }, dropped }
  },
  parseCreation(answer) {
    const id = textOr(valueAt(answer, 'output', 'task_id'), '')
    return id === '' ? brokenFailure(answer, 'no task') : id
  },
  lookPath: (base, id) => `${base}/api/v1/tasks/${encodeURIComponent(id)}`,
  parseLook(answer) {
    const output = lookAt(lookAt(answer)['output'])
    return jobOf({ word: output['task_status'], about: output, source: output['video_url'] })
  },
}
