import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { buildCloudRequest } from '../anthropic-messages/cloud-body.ts'
import type { Cloud } from '../anthropic-messages/cloud-body.ts'
import { messagesCodec } from '../anthropic-messages/codec.ts'
import { bedrockPath } from '../bedrock-converse/address.ts'
import { InvokeDecoder } from './decoder.ts'

const BEDROCK: Cloud = { version: 'bedrock-2023-05-31', inPath: ['model', 'stream'], betasIn: 'body' }

/** Messages through InvokeModel. The path names the model, and tells whether to stream. */
export const invokeCodec: UpstreamCodec = {
  name: 'bedrock-invoke',
  defaultTarget: messagesCodec.defaultTarget,
  framing: 'aws-event-stream',
  path: (base, model, stream) => base + bedrockPath(model, stream ? 'invoke-with-response-stream' : 'invoke'),
  buildRequest: (conversation, target) => buildCloudRequest(conversation, target, BEDROCK),
  parseAnswer: (body) => messagesCodec.parseAnswer(body),
  createDecoder: () => new InvokeDecoder(),
}
