import type { Answer } from '../../shared/core/answer.ts'
import type { AnswerOptions, BuiltAnswer } from '../../shared/core/codec.ts'
import { replayAnswer } from '../common/replay-answer.ts'
import { ResponsesEncoder } from './stream-encoder.ts'

/** Writes an answer as a response: the one that the last event of its stream would hold. */
export function buildAnswer(answer: Answer, options: AnswerOptions): BuiltAnswer {
  const encoder = new ResponsesEncoder({ ...options, wantsUsage: true })
  for (const event of replayAnswer(answer)) encoder.encode(event)
  const dropped = new Set([...encoder.dropped, ...Object.keys(answer.extra ?? {})])
  return { body: { ...encoder.response, ...options.echo }, dropped: [...dropped] }
}
