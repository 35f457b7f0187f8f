import { Type } from 'typebox'
import { nullable } from './nullable.ts'
import { Time } from './operation.ts'

const Requests = Type.Boolean({ description: 'Keep the bodies of requests.', default: false })
const Answers = Type.Boolean({ description: 'Keep the bodies of answers.', default: false })
const Sample = Type.Number({ description: 'Share of the requests.', minimum: 0, maximum: 1, default: 1 })
const Redact = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  description:
    'Patterns of RE2 whose matches are redacted, besides credentials. Those of the enterprise also hold for keys with their own setting.',
  maxItems: 16,
  default: [],
  examples: [['[A-Z]{2}[0-9]{20}']],
})
const RetainDays = Type.Integer({
  description: 'Days after which the bodies are deleted; with the row of the log at the latest.',
  minimum: 1,
  maximum: 365,
  default: 30,
})

/** The bodies that are kept, as they are shown. */
export const ShownCapture = Type.Object(
  { requests: Requests, answers: Answers, sample: Sample, redact: Redact, retain_days: RetainDays },
  { description: 'Bodies that are kept. Null: of a key, as its enterprise says; of an enterprise, none.' },
)

/** The same as it is sent. It replaces the setting before as a whole. */
const SentCapture = Type.Object(
  {
    requests: Type.Optional(Requests),
    answers: Type.Optional(Answers),
    sample: Type.Optional(Sample),
    redact: Type.Optional(Redact),
    retain_days: Type.Optional(RetainDays),
  },
  {
    description:
      'Bodies that are kept; it replaces the setting before as a whole. Null: of a key, as its enterprise says; of an enterprise, none.',
    additionalProperties: false,
  },
)

/** A member of the bodies of operations that make or change keys and enterprises. */
export const CaptureField = { capture: Type.Optional(nullable(SentCapture)) }

const Body = Type.Object({
  text: nullable(
    Type.String({ description: 'Redacted. Null: it was sealed with another secret of the installation.' }),
  ),
  bytes: Type.Integer({ description: 'Size of the whole body.', minimum: 0 }),
  truncated: Type.Boolean({ description: 'Only its beginning was kept.' }),
  complete: Type.Boolean({ description: 'False: the connection ended before the body did.' }),
  redactions: Type.Integer({ description: 'Places that were redacted.', minimum: 0 }),
  expires_at: Time,
})

/** The captured bodies of a request. */
export const Bodies = Type.Object(
  {
    request: nullable({ ...Body, description: 'As the client sent it.' }),
    answer: nullable({ ...Body, description: 'As the client got it.' }),
  },
  { description: 'Only with bodies=true. Null: there are none.' },
)
