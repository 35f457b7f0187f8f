import type { BufferedAnswer } from '../../shared/core/dialect.ts'
import { emptyUsage } from '../../shared/core/usage.ts'
import { openaiVideoJobs } from '../videos/openai.ts'
import { failedAnswer } from '../common/whole-answer.ts'

/** Reads the job's id from the answer that created it. Counts no tokens. Throws SyntaxError when the answer is not JSON. */
export function readAnswer(body: Buffer): BufferedAnswer {
  const id = openaiVideoJobs.parseCreation(JSON.parse(body.toString('utf8')))
  if (typeof id !== 'string') return failedAnswer(id)
  const job = { id, protocol: openaiVideoJobs.protocol }
  return { usage: emptyUsage(), observedTextBytes: 0, failure: null, body: null, job }
}
