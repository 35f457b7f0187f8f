import type { ClientCodec } from '../../shared/core/codec.ts'
import { buildAnswer } from './build-answer.ts'
import { echoOf } from './echo.ts'
import { parseRequest } from './parse-request.ts'
import { ResponsesEncoder } from './stream-encoder.ts'

/** Responses, as clients speak them; nothing is kept between requests. */
export const responsesCodec: ClientCodec = {
  name: 'openai-responses',
  parseRequest,
  echoOf,
  buildAnswer,
  createEncoder: (options) => new ResponsesEncoder(options),
}
