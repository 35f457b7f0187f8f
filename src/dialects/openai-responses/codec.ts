import type { ClientCodec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { repeatedFields } from './repeated-fields.ts'
import { parseRequest } from './parse-request.ts'
import { ResponsesEncoder } from './stream-encoder.ts'

/** The responses dialect, for clients. Nothing is stored between requests. */
export const responsesCodec: ClientCodec = {
  name: 'openai-responses',
  parseRequest,
  repeatedFields,
  buildAnswer,
  createEncoder: (options) => new ResponsesEncoder(options),
}
