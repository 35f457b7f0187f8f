import type { JsonObject } from '../../shared/core/json-object.ts'
import { arrayOf, objects, textOr } from '../common/fields.ts'
import { googlePath, versionedBase } from '../gemini/address.ts'
import { geminiFailure } from '../gemini/errors.ts'
import { nearestShape } from '../images/shapes.ts'
import { asObject, valueAt } from '../common/json-value.ts'
import type { BuiltCall } from '../services/codec.ts'
import { carry } from '../services/fields.ts'
import { brokenFailure } from '../common/whole-answer.ts'
import type { VideoAsk, VideoCodec } from './codec.ts'
import { jobOf, lookAt, refusedJob } from './job.ts'
import type { VendorJob } from './job.ts'
import { refuseMedia, resolutionOf } from './request.ts'

const OPERATION = /^[a-z0-9][\w.-]*(?:\/[a-z0-9][\w.-]*){1,15}$/i

/** Veo through the Gemini API: a long-running operation. */
export const veo: VideoCodec = {
  protocol: 'veo',
  path: (base, model) => googlePath(base, model, 'predictLongRunning'),
  buildRequest,
  parseCreation(answer) {
    const name = textOr(asObject(answer)?.['name'], '')
    if (asObject(answer)?.['error']) return geminiFailure(answer)
    return OPERATION.test(name) ? name : brokenFailure(answer, 'no operation')
  },
  lookPath: (base, name) => `${versionedBase(base)}/${name}`,
  parseLook,
}

function buildRequest({ prompt, size, seconds, others }: VideoAsk): BuiltCall {
  refuseMedia(others)
  const parameters: Record<string, unknown> = {}
  const shape = nearestShape(size, ['16:9', '9:16'])
  if (shape !== null) parameters['aspectRatio'] = shape.name
  if (size !== null) parameters['resolution'] = resolutionOf(size, [720, 1080, 2160]).replace('2160p', '4k')
  if (seconds !== null) parameters['durationSeconds'] = seconds
  const dropped = carry(others, parameters, { negative_prompt: 'negativePrompt', seed: 'seed' })
  const body = { instances: [{ prompt }], parameters }
  return { body, dropped: shape === null || shape.exact ? dropped : [...dropped, 'size'] }
}

function parseLook(answer: unknown): VendorJob {
  const operation = lookAt(answer)
  if (operation['done'] !== true) return jobOf({ word: operation['error'] ? 'failed' : 'running', about: answer })
  if (operation['error']) return failed(operation, answer)
  const made = asObject(valueAt(operation, 'response', 'generateVideoResponse')) ?? {}
  const source = valueAt(objects(made['generatedSamples'])[0], 'video', 'uri')
  if (typeof source === 'string') return jobOf({ word: 'done', source })
  const reasons = arrayOf(made['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  return refusedJob(reasons.join(' ') || 'The video was withheld.')
}

/** Error codes are numbers: 3 means that the request is at fault. */
function failed(operation: JsonObject, answer: unknown): VendorJob {
  const isRefused = valueAt(operation, 'error', 'code') === 3
  return { ...jobOf({ word: 'failed', about: answer }), isRefused }
}
