import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { localEndpoint, openEndpoint, PLAIN_FIELDS, serviceEndpoint } from './declare.ts'

/** POST /v1/video/generations. A null is the same as leaving the field out; fields not named here pass through. */
export const VideoRequest = Type.Object(
  {
    model: Type.String({ description: 'Video model id.', minLength: 1, maxLength: 256 }),
    prompt: Type.String({ description: 'Description of the video.', minLength: 1 }),
    size: Type.Optional(
      nullable(
        Type.String({
          description: '<width>x<height> in pixels.',
          pattern: '^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$',
          examples: ['1280x720'],
        }),
      ),
    ),
    duration: Type.Optional(nullable(Type.Integer({ description: 'Length in seconds.', minimum: 1, maximum: 3600 }))),
    n: Type.Optional(
      nullable(
        Type.Integer({ description: 'Number of videos, where the upstream supports it.', minimum: 1, maximum: 10 }),
      ),
    ),
    async: Type.Optional(
      nullable(
        Type.Boolean({ description: 'Answer with the id of the job at once, instead of waiting for the video.' }),
      ),
    ),
    user: Type.Optional(nullable(Type.String({ description: 'An opaque identifier of the end user.' }))),
  },
  { description: 'A video request.' },
)
export type VideoRequest = Static<typeof VideoRequest>

/** The answer to a video request, and to GET /v1/video/generations/{id}. */
export const Video = Type.Object(
  {
    id: Type.String({ description: 'Id of the job. GET /v1/video/generations/{id} shows its state.' }),
    object: Type.Literal('video.generation'),
    status: Type.Enum(['queued', 'in_progress', 'completed', 'failed']),
    model: Type.String({ description: 'The requested model.' }),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    progress: Type.Optional(Type.Number({ description: 'In percent, where the upstream reports it.' })),
    data: Type.Optional(
      Type.Array(
        Type.Object({
          url: Type.String({
            description: 'Link to the video. Anybody who has the link can open it until it expires.',
          }),
        }),
        {
          description: 'Present when the status is completed.',
        },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        { type: Type.String(), message: Type.String(), code: Type.String() },
        { description: 'Present when the status is failed.' },
      ),
    ),
  },
  { description: 'A video, or the job that makes it.' },
)
export type Video = Static<typeof Video>

export const video = serviceEndpoint('videos', {
  operation: 'generateVideo',
  name: 'video.generations',
  summary: 'Make a video',
  beginsJob: true,
  body: VideoRequest,
  example: { model: 'sim-video', prompt: 'A sluice opens' },
  answer: Video,
  fields: (request) => ({
    ...PLAIN_FIELDS,
    model: request.model,
    expected: { kind: 'video', waits: request.async !== true },
  }),
})

export const videoJob = localEndpoint('/v1/video/generations/{id}', {
  operation: 'video',
  name: 'video.get',
  summary: 'State of a video that was requested before',
  answer: Video,
})

export const videoContent = openEndpoint('/v1/video/generations/{id}/content', {
  operation: 'videoContent',
  tag: 'Models',
  summary: 'Content of a video, by the link of its job',
  query: Type.Object({
    expires: Type.Integer({ description: 'Unix time in seconds.' }),
    signature: Type.String(),
  }),
  answer: null,
  media: 'video/mp4',
})
