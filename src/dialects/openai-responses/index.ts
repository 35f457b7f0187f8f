import type { Dialect } from '../../shared/core/dialect.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { readFailureBody } from '../common/failure.ts'
import { renderError } from '../openai-chat/errors.ts'
import { errorEvent } from './errors.ts'

/** The dialect of POST /v1/responses. No upstream speaks it, so no body passes unchanged. */
export const openaiResponses: Dialect = {
  name: 'openai-responses',
  prepareBody: untranslated,
  inspectStream: untranslated,
  readAnswer: untranslated,
  readFailure: (_status, body) => readFailureBody(body),
  renderError,
  renderErrorEvent: (error, requestId) => Buffer.from(errorEvent(error, requestId, 0)),
  terminalEvent: Buffer.alloc(0),
}

function untranslated(): never {
  throw new GatewayError('INTERNAL', { detail: 'openai-responses has no pass-through: the request must be translated' })
}
