import { readCloudPrompt } from './anthropic-clouds.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { bedrockErrorBody, bedrockErrorHeaders, bedrockException } from './bedrock-errors.ts'
import { AWS_FRAMES, awsEvent, bedrockConverse } from './bedrock-converse.ts'
import type { JsonObject } from './json.ts'
import { BadRequest, type Prompt } from './prompt.ts'
import type { Wire } from './wire.ts'

const VERSION = 'bedrock-2023-05-31'

/** Messages through InvokeModel: bodies are unchanged, events are base64 in frames. */
export const bedrockInvoke: Wire = {
  ...AWS_FRAMES,
  headers: (requestId, processingMs) => bedrockConverse.headers(requestId, processingMs),
  body: (answer) => anthropicMessages.body(answer),
  events: (answer) => anthropicMessages.events(answer).wrapped(chunkOf),
  longEvent: (answer, text) => chunkOf(anthropicMessages.longEvent(answer, text)),
  terminal: () => chunkOf(anthropicMessages.terminal()),
  errorBody: bedrockErrorBody,
  errorHeaders: bedrockErrorHeaders,
  errorEvent: () => bedrockException('modelStreamErrorException', 'The model has failed.'),
}

function chunkOf(event: string): string {
  const data = event.slice(event.indexOf('data: ') + 'data: '.length).trimEnd()
  return awsEvent('chunk', `{"bytes":"${Buffer.from(data).toString('base64')}","p":"abcdefgh"}`)
}

/** Reads a body of InvokeModel for a model that speaks messages. Throws BadRequest. */
export function readInvokePrompt(
  body: JsonObject,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): Prompt {
  const asked: unknown = body['anthropic_beta'] ?? []
  if (!Array.isArray(asked)) throw new BadRequest('anthropic_beta: Input should be a valid list')
  return readCloudPrompt(body, { version: VERSION, model, stream, betas: asked.map(String), more: [] })
}
