import { gemini } from '../gemini.ts'
import { isRecord, type JsonObject } from '../json.ts'
import { openaiChat } from '../openai-chat.ts'
import { jsonAnswer, type PlainAnswer } from '../plain-request.ts'
import { BadRequest } from '../prompt.ts'
import { lean, oneOf, only } from './service.ts'
import type { ForeignLook, ForeignService } from './service.ts'

const json = (value: unknown): PlainAnswer => jsonAnswer(JSON.stringify(value))

const isDone = ({ status }: JsonObject): boolean => status === 'completed'
const hasFailed = ({ status }: JsonObject): boolean => status === 'failed'

const errorOf = (job: JsonObject): JsonObject => (isRecord(job['error']) ? job['error'] : {})
const isModerated = (job: JsonObject): boolean => errorOf(job)['code'] === 'moderation_blocked'

/** A URL that needs no credential. */
const fileUrl = (origin: string, id: string): string => `${origin}/files/${id}.mp4?signature=simulated`

/** The name of an operation contains the name of its model. */
const operationOf = (path: string, id: unknown): string => {
  const model = /\/models\/([^/:]+):/.exec(path)?.[1] ?? ''
  return `models/${model}/operations/${String(id)}`
}

export const JOBS: readonly ForeignService[] = [
  {
    kind: 'videos',
    method: 'POST',
    path: /\/models\/([^/:]+):predictLongRunning$/,
    wire: gemini,
    read(body, { model }) {
      only(body, ['instances', 'parameters'])
      const [instance] = Array.isArray(body['instances']) ? (body['instances'] as unknown[]) : []
      const parameters = isRecord(body['parameters']) ? body['parameters'] : {}
      oneOf(parameters['aspectRatio'], 'aspectRatio', ['16:9', '9:16'])
      oneOf(parameters['resolution'], 'resolution', ['720p', '1080p', '4k'])
      oneOf(parameters['durationSeconds'], 'durationSeconds', [4, 6, 8])
      return lean({ model, prompt: isRecord(instance) ? instance['prompt'] : undefined })
    },
    write: ({ id }, { path }) => ({ name: operationOf(path, id) }),
  },
  {
    kind: 'videos',
    method: 'POST',
    path: /\/videos\/generations$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'prompt', 'duration', 'resolution', 'aspect_ratio', 'image', 'user'])
      oneOf(body['resolution'], 'resolution', ['480p', '720p'])
      return lean({ model: body['model'], prompt: body['prompt'], user: body['user'] })
    },
    write: ({ id }) => ({ request_id: id }),
  },
  {
    kind: 'videos',
    method: 'POST',
    path: /\/aigc\/video-generation\/video-synthesis$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'input', 'parameters'])
      const input = isRecord(body['input']) ? body['input'] : {}
      const parameters = isRecord(body['parameters']) ? body['parameters'] : {}
      if (typeof parameters['size'] === 'string' && !/^\d+\*\d+$/.test(parameters['size'])) {
        throw new BadRequest('size must be like 1280*720', 'size', 'InvalidParameter')
      }
      return lean({ model: body['model'], prompt: input['prompt'] })
    },
    write: ({ id }) => ({ request_id: 'x', output: { task_id: id, task_status: 'PENDING' } }),
  },
  {
    kind: 'videos',
    method: 'POST',
    path: /\/contents\/generations\/tasks$/,
    wire: openaiChat,
    read(body) {
      only(body, ['model', 'content', 'ratio', 'resolution', 'duration', 'seed', 'watermark', 'camera_fixed'])
      const [part] = Array.isArray(body['content']) ? (body['content'] as unknown[]) : []
      oneOf(body['resolution'], 'resolution', ['480p', '720p', '1080p'])
      return lean({ model: body['model'], prompt: isRecord(part) ? part['text'] : undefined })
    },
    write: ({ id }) => ({ id }),
  },
]

export const LOOKS: readonly ForeignLook[] = [
  {
    method: 'GET',
    path: /\/v1beta\/(models\/[^/]+\/operations\/([^/]+))$/,
    wire: gemini,
    look([name = '', id = ''], jobs, { origin }) {
      const job = jobs.tell(id)
      if (!isDone(job) && !hasFailed(job)) return json({ name })
      if (hasFailed(job) && !isModerated(job)) {
        return json({ name, done: true, error: { code: 13, message: errorOf(job)['message'] } })
      }
      const made = isDone(job)
        ? { generatedSamples: [{ video: { uri: `${origin}/v1beta/files/${id}:download?alt=media` } }] }
        : { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The prompt was blocked.'] }
      return json({ name, done: true, response: { generateVideoResponse: made } })
    },
  },
  {
    method: 'GET',
    path: /^\/v1beta\/files\/([^/:]+):download$/,
    wire: gemini,
    look([id = ''], jobs, { origin }) {
      jobs.tell(id)
      const location = `${origin}/download/v1beta/files/${id}:download?alt=media`
      const body = { error: { code: 302, message: 'Unknown Error.', status: 'UNKNOWN' } }
      return { ...json(body), status: 302, headers: `location: ${location}\r\n` }
    },
  },
  {
    method: 'GET',
    path: /^\/download\/v1beta\/files\/([^/:]+):download$/,
    wire: gemini,
    look: ([id = ''], jobs) => jobs.content(id),
  },
  {
    method: 'GET',
    path: /\/xai\/.*\/videos\/([^/]+)$/,
    wire: openaiChat,
    look([id = ''], jobs, { origin }) {
      const job = jobs.tell(id)
      if (isDone(job)) {
        return json({ status: 'done', progress: 100, video: { url: fileUrl(origin, id), respect_moderation: true } })
      }
      if (isModerated(job)) return json({ status: 'done', video: { respect_moderation: false } })
      if (hasFailed(job)) return json({ status: 'failed', error: errorOf(job) })
      return { ...json({ status: 'pending', progress: job['progress'] }), status: 202 }
    },
  },
  {
    method: 'GET',
    path: /\/api\/v1\/tasks\/([^/]+)$/,
    wire: openaiChat,
    look([id = ''], jobs, { origin }) {
      const job = jobs.tell(id)
      const output = isDone(job)
        ? { task_id: id, task_status: 'SUCCEEDED', video_url: fileUrl(origin, id) }
        : hasFailed(job)
          ? {
              task_id: id,
              task_status: 'FAILED',
              code: isModerated(job) ? 'DataInspectionFailed' : 'InternalError',
              message: errorOf(job)['message'],
            }
          : { task_id: id, task_status: 'RUNNING' }
      return json({ request_id: 'x', output })
    },
  },
  {
    method: 'GET',
    path: /\/contents\/generations\/tasks\/([^/]+)$/,
    wire: openaiChat,
    look([id = ''], jobs, { origin }) {
      const job = jobs.tell(id)
      if (isDone(job)) return json({ id, status: 'succeeded', content: { video_url: fileUrl(origin, id) } })
      if (!hasFailed(job)) return json({ id, status: 'running' })
      const code = isModerated(job) ? 'OutputVideoSensitiveContentDetected' : 'InternalServiceError'
      return json({ id, status: 'failed', error: { code, message: errorOf(job)['message'] } })
    },
  },
  {
    method: 'GET',
    path: /^\/files\/([^/]+)\.mp4$/,
    wire: openaiChat,
    look: ([id = ''], jobs) => jobs.open(id),
  },
]
