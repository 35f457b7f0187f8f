import { readCloudPrompt } from './anthropic-clouds.ts'
import { anthropicErrorBody } from './anthropic-errors.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { geminiErrorBody } from './gemini-errors.ts'
import type { RequestHead } from './http-head.ts'
import type { JsonObject } from './json.ts'
import { BadRequest, type Prompt } from './prompt.ts'
import type { Wire } from './wire.ts'

const VERSION = 'vertex-2023-10-16'

/** Statuses of errors that the cloud writes itself, in its own format. The model's server writes all others. */
const OF_THE_CLOUD = new Set([401, 403, 404, 429])

/** Messages through Vertex AI: bodies and events are unchanged. */
export const vertexMessages: Wire = {
  ...anthropicMessages,
  headers: (requestId) => `request-id: ${requestId}\r\nx-vertex-ai-internal-prediction-backend: harpoon\r\n`,
  errorBody: (status, context) =>
    OF_THE_CLOUD.has(status) ? geminiErrorBody(status, context) : anthropicErrorBody(status, context),
}

/** Reads a body of rawPredict or streamRawPredict for a model that speaks messages. Throws BadRequest. */
export function readVertexPrompt(
  body: JsonObject,
  { model, stream }: { readonly model: string; readonly stream: boolean },
  { headers }: RequestHead,
): Prompt {
  if (!/^bearer\s+\S/i.test(headers['authorization'] ?? '')) {
    throw new BadRequest('Request is missing required authentication credential.', null, null, 401)
  }
  if ('anthropic_beta' in body) throw new BadRequest('anthropic_beta: Extra inputs are not permitted')
  if ((body['stream'] === true) !== stream) throw new BadRequest('stream: does not fit the method')
  const betas = (headers['anthropic-beta'] ?? '').split(',').map((flag) => flag.trim())
  return readCloudPrompt(body, {
    version: VERSION,
    model,
    stream,
    betas: betas.filter((flag) => flag !== ''),
    more: ['stream'],
  })
}
