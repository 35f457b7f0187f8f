import { emptyUsage } from '../../shared/core/usage.ts'
import { numberOrNull, textOr } from '../common/fields.ts'
import { sizeOf } from '../images/shapes.ts'
import type { ServiceCodec } from '../services/codec.ts'
import { byRules, otherFields } from '../services/fields.ts'
import { failedAnswer } from '../common/whole-answer.ts'
import type { VideoCodec } from './codec.ts'

const KNOWN = new Set(['model', 'prompt', 'size', 'duration', 'async'])

/** Starts a job. Counts no tokens. */
export function videoService(codec: VideoCodec): ServiceCodec {
  return {
    path: (base, model) => codec.path(base, model),
    ...(codec.headers === undefined ? {} : { headers: codec.headers }),
    build(request, { model, rules }) {
      const built = codec.buildRequest({
        model,
        prompt: textOr(request['prompt'], ''),
        size: sizeOf(request['size']),
        seconds: numberOrNull(request['duration']),
        others: otherFields(request, KNOWN),
      })
      const ruled = byRules(built.body, rules)
      return { bodies: [ruled.body], sizes: [1], dropped: [...built.dropped, ...ruled.dropped] }
    },
    read([answer]) {
      const id = codec.parseCreation(answer)
      if (typeof id !== 'string') return failedAnswer(id)
      const job = { id, protocol: codec.protocol }
      return { usage: emptyUsage(), observedTextBytes: 0, failure: null, body: null, job }
    },
  }
}
