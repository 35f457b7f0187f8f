import type { Answer } from '../../shared/core/answer.ts'
import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { StreamEvent } from '../../shared/core/stream-event.ts'
import { AnswerCollector } from '../common/collect-answer.ts'
import { ResponseReader } from './response-reader.ts'

/** Parses a whole response, or the array of responses that a stream without events is. */
export function parseAnswer(body: unknown): Answer | UpstreamFailure {
  const events: StreamEvent[] = []
  const reader = new ResponseReader()
  for (const response of Array.isArray(body) ? (body as unknown[]) : [body]) reader.read(response, events)
  reader.end(!Array.isArray(body), events)
  const collector = new AnswerCollector()
  for (const event of events) collector.take(event)
  return collector.answer ?? collector.failure ?? { message: '', type: 'invalid_answer' }
}
