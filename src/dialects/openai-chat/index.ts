import type { Dialect } from '../../shared/core/dialect.ts'
import { readFailureBody } from '../common/failure.ts'
import { readAnswer } from './answer.ts'
import { renderError, renderErrorEvent } from './errors.ts'
import { leftOut, prepareBody } from './request.ts'
import { ChatStreamInspector } from './stream.ts'

/** The dialect of POST /v1/chat/completions. */
export const openaiChat: Dialect = {
  name: 'openai-chat',
  prepareBody,
  leftOut,
  inspectStream: (clientWantsUsage) => new ChatStreamInspector(clientWantsUsage),
  readAnswer,
  readFailure: (_status, body) => readFailureBody(body),
  renderError,
  renderErrorEvent,
  terminalEvent: Buffer.from('data: [DONE]\n\n'),
}
