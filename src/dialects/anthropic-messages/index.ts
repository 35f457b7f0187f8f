import type { Dialect } from '../../shared/core/dialect.ts'
import { readFailureBody } from '../common/failure.ts'
import { readAnswer } from './answer.ts'
import { renderError, renderErrorEvent } from './errors.ts'
import { prepareBody } from './foreign-thinking.ts'
import { MessagesStreamInspector } from './stream.ts'

/** The dialect of POST /v1/messages and /v1/messages/count_tokens. Its streams always carry usage. */
export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  prepareBody,
  inspectStream: () => new MessagesStreamInspector(),
  readAnswer,
  readFailure: (_status, body) => readFailureBody(body),
  renderError,
  renderErrorEvent,
  terminalEvent: Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n'),
}
