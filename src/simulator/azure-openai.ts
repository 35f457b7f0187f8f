import type { RequestHead } from './http-head.ts'
import { isRecord, type JsonObject } from './json.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiErrorBody } from './openai-errors.ts'
import { BadRequest, readChatPrompt, type Prompt } from './prompt.ts'
import type { ErrorContext, Wire } from './wire.ts'

const DEPLOYMENT = /\/openai\/deployments\/([^/]+)\//

const SAFE =
  '{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}'
const PROMPT_FILTER = `"prompt_filter_results":[{"prompt_index":0,"content_filter_results":${SAFE}}]`
/** The first chunk of a stream has the filter's result for the prompt: no choice, no id, no model. */
const FILTER_CHUNK = `data: {"choices":[],"created":0,"id":"","model":"","object":"",${PROMPT_FILTER}}\n\n`

const ACCESS_DENIED =
  'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.'

/** Chat completions as Azure serves them: with the results of its content filter. */
export const azureOpenai: Wire = {
  ...openaiChat,
  headers: (requestId) => `apim-request-id: ${requestId}\r\nx-ms-region: Simulated\r\nx-request-id: ${requestId}\r\n`,
  body: (answer) => `${openaiChat.body(answer).slice(0, -1)},${PROMPT_FILTER}}`,
  events: (answer) => openaiChat.events(answer).preceded(FILTER_CHUNK),
  errorBody: azureErrorBody,
}

function azureErrorBody(status: number, context: ErrorContext): string {
  switch (status) {
    case 401:
      return JSON.stringify({ error: { code: '401', message: ACCESS_DENIED } })
    case 404:
      return JSON.stringify({ error: { code: '404', message: context.message ?? 'Resource not found' } })
    case 429: {
      const message = context.message ?? `Your requests to ${context.model} have exceeded rate limit.`
      return JSON.stringify({ error: { code: 'RateLimitReached', message, details: message } })
    }
    default:
      return openaiErrorBody(status, context)
  }
}

/** Reads a body for a deployment, which the path or the body names. Throws BadRequest. */
export function readAzurePrompt(body: JsonObject, { path, query }: RequestHead): Prompt {
  const deployment = DEPLOYMENT.exec(path)?.[1]
  const isDated = deployment !== undefined || !path.includes('/openai/')
  if (isDated && !new URLSearchParams(query).has('api-version')) {
    throw new BadRequest('Resource not found', null, '404', 404)
  }
  const model = typeof body['model'] === 'string' ? body['model'] : decodeURIComponent(deployment ?? '')
  const options = isRecord(body['stream_options']) ? body['stream_options'] : null
  if (options !== null && body['stream'] !== true) {
    throw new BadRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  return readChatPrompt({ ...body, model })
}
