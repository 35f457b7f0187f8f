import { isFailure } from '../../shared/core/codec.ts'
import type { Block } from '../../shared/core/content.ts'
import type { DialectName } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { clientCodec, upstreamCodec } from '../../dialects/codecs.ts'
import { readOutput } from '../../dialects/openai-responses/parse-input.ts'
import { countAnswer } from '../tokens/count-answer.ts'
import { countPrompt } from '../tokens/count-prompt.ts'
import { countTextTokens } from '../tokens/tokenizer.ts'
import type { CountTask } from './protocol.ts'

/** Counts the tokens of a request or of an answer. Throws SyntaxError when it is not JSON. */
export function count(task: CountTask, buffer: Buffer): number {
  const { dialect, model } = task
  const value: unknown = JSON.parse(buffer.toString('utf8'))
  if (task.kind === 'count-prompt') return countPrompt(clientCodec(dialect).parseRequest(value), model, countTextTokens)
  return countAnswer(contentOf(dialect, value), model, countTextTokens)
}

/** The content of an answer in the client's dialect. */
function contentOf(dialect: DialectName, value: unknown): readonly Block[] {
  if (dialect === 'openai-responses') return readOutput(value)
  const answer = upstreamCodec(dialect).parseAnswer(value)
  if (isFailure(answer)) throw new GatewayError('UPSTREAM_INVALID_ANSWER')
  return answer.content
}
