import { Type } from 'typebox'
import type { Static } from 'typebox'
import { nullable } from '../api/nullable.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestFields } from '../core/request-body.ts'
import { PLAIN_FIELDS, serviceEndpoint } from './declare.ts'

/** POST /v1/images/generations. A null is the same as leaving the field out; fields not named here pass through. */
export const ImagesRequest = Type.Object(
  {
    model: Type.String({ description: 'Image model id.', minLength: 1, maxLength: 256 }),
    prompt: Type.String({ description: 'Description of the image.', minLength: 1 }),
    n: Type.Optional(
      nullable(Type.Integer({ description: 'Number of images; 1 by default.', minimum: 1, maximum: 10 })),
    ),
    size: Type.Optional(
      nullable(
        Type.String({
          description: '<width>x<height> in pixels, or auto.',
          pattern: '^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|auto)$',
          examples: ['1024x1024'],
        }),
      ),
    ),
    response_format: Type.Optional(
      Type.Unsafe<'url' | 'b64_json' | null>({ enum: ['url', 'b64_json', null], description: 'url by default.' }),
    ),
    stream: Type.Optional(nullable(Type.Boolean({ description: 'Not supported: images come whole.' }))),
    user: Type.Optional(nullable(Type.String({ description: 'An opaque identifier of the end user.' }))),
  },
  { description: 'An image request.' },
)
export type ImagesRequest = Static<typeof ImagesRequest>

export const Images = Type.Object(
  {
    created: Type.Optional(Type.Integer({ description: 'Unix time in seconds.' })),
    data: Type.Array(
      Type.Object({
        url: Type.Optional(
          Type.String({ description: 'Address of the image; a data: URL when the upstream sends only bytes.' }),
        ),
        b64_json: Type.Optional(nullable(Type.String({ description: 'The image in base64.' }))),
        revised_prompt: Type.Optional(
          nullable(Type.String({ description: 'The prompt as the model has rewritten it.' })),
        ),
      }),
    ),
  },
  { description: 'The images.' },
)
export type Images = Static<typeof Images>

export const images = serviceEndpoint('images', {
  operation: 'generateImages',
  name: 'images.generations',
  summary: 'Make images',
  body: ImagesRequest,
  example: { model: 'sim-image', prompt: 'A sluice at dawn' },
  answer: Images,
  fields: fieldsOf,
})

function fieldsOf(request: ImagesRequest): RequestFields {
  if (request.stream === true) {
    throw new GatewayError('INVALID_FIELD', { param: '/stream', message: 'stream must be false: images come whole.' })
  }
  return {
    ...PLAIN_FIELDS,
    model: request.model,
    // Some models count the image as thousands of tokens.
    maxOutputTokens: null,
    choices: request.n ?? 1,
    expected: { kind: 'images', wantsUrl: request.response_format !== 'b64_json', count: request.n ?? 1 },
  }
}
