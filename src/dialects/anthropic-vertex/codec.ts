import type { UpstreamCodec } from '../../shared/core/codec.ts'
import { buildCloudRequest } from '../anthropic-messages/cloud-body.ts'
import type { Cloud } from '../anthropic-messages/cloud-body.ts'
import { cloudBetas, readBetas } from '../anthropic-messages/cloud-betas.ts'
import { messagesCodec } from '../anthropic-messages/codec.ts'
import { vertexPlace } from '../gemini/address.ts'
import { vertexMessagesPath } from './address.ts'

/** Vertex AI takes beta flags in a header. */
const VERTEX: Cloud = { version: 'vertex-2023-10-16', inPath: ['model'], betasIn: 'header' }

/** Messages through Vertex AI. The path names the model. */
export const vertexMessagesCodec: UpstreamCodec = {
  name: 'anthropic-vertex',
  defaultTarget: messagesCodec.defaultTarget,
  framing: 'sse',
  path(base, model, stream) {
    const place = vertexPlace(base)
    // The check of the configuration ensures that there is a place.
    return place === null ? base : vertexMessagesPath(model, stream, place)
  },
  addHeaders(headers, { dialect, headers: sent, vendor }) {
    const betas = dialect === 'anthropic-messages' ? cloudBetas(readBetas(sent[`${vendor}-beta`])) : []
    if (betas.length > 0) headers.push('anthropic-beta', betas.join(','))
  },
  buildRequest: (conversation, target) => buildCloudRequest(conversation, target, VERTEX),
  parseAnswer: (body) => messagesCodec.parseAnswer(body),
  createDecoder: () => messagesCodec.createDecoder(),
}
