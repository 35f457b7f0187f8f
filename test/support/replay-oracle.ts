import type { Usage } from '../../src/shared/core/usage.ts'
import { chatUsage, expectedOutcome, messagesUsage, textIn } from '../unit/dialects/stream-oracle.ts'
import type { RecordedFixture } from './recorded-fixtures.ts'

const DONE = 'data: [DONE]\n\n'
const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
/** No family of models has more bytes per token. */
const BYTES_PER_TOKEN = 5

/** The expected answer of the client and row of the log for a recorded answer. Computed with JSON.parse alone. */
export interface Expected {
  /** `body`: the answer unchanged. `broken`: these bytes, then one error event. `error`: an error instead of the answer. */
  readonly kind: 'body' | 'broken' | 'error'
  readonly status: number
  readonly body: Buffer
  /** Before its last event the stream has an event of the gateway with the usage that it counted. */
  readonly hasOwnUsage?: boolean
  /** The provider's message that the error must contain; null when it must not. */
  readonly message: string | null
  /** Null: the usage is unknown and not exact. */
  readonly usage: Usage | null
  readonly settlement: 'exact' | 'observed' | 'none'
  /** Lower bound of the completion tokens when the provider reports none. */
  readonly observedTokens: number
}

// Recorded JSON, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any

export function expectedAnswer(fixture: RecordedFixture, wantsUsage: boolean): Expected {
  if (fixture.kind === 'error') return expectedError(fixture.status, fixture.response)
  return fixture.kind === 'stream' ? expectedStream(fixture, wantsUsage) : expectedBody(fixture)
}

function expectedStream({ protocol, response }: RecordedFixture, wantsUsage: boolean): Expected {
  const outcome = expectedOutcome(protocol, response, wantsUsage)
  const { forwarded, usage } = outcome
  const bytes = Buffer.from(forwarded + missingLineEnds(forwarded), 'latin1')
  const terminal = outcome.verdicts.at(-1) === 'terminal'
  const observedTokens = Math.ceil(outcome.textBytes / BYTES_PER_TOKEN)
  if (!outcome.failed && (terminal || outcome.finished)) {
    const end = terminal ? '' : protocol === 'openai-chat' ? DONE : MESSAGE_STOP
    return {
      kind: 'body',
      status: 200,
      body: Buffer.concat([bytes, Buffer.from(end)]),
      message: null,
      usage,
      hasOwnUsage: protocol === 'openai-chat' && wantsUsage && usage === null,
      settlement: usage === null ? 'observed' : 'exact',
      observedTokens,
    }
  }
  if (/^[^:\r\n]/m.test(forwarded)) {
    const settlement = outcome.finished && usage !== null ? 'exact' : 'observed'
    return { kind: 'broken', status: 200, body: bytes, message: null, usage: null, settlement, observedTokens }
  }
  const failed = response.toString().match(/"type"\s*:\s*"invalid_request_error"/) !== null
  return { ...expectedError(failed ? 400 : 500, Buffer.from('{}')), message: null }
}

/** The line ends that the gateway must add: a client ignores a last event without its blank line. */
function missingLineEnds(stream: string): string {
  if (stream === '' || /(?:\r\n|\n|\r)(?:\r\n|\n|\r)$/.test(stream)) return ''
  return stream.endsWith('\n') ? '\n' : '\n\n'
}

function expectedBody({ protocol, operation, response }: RecordedFixture): Expected {
  const answer: Json = JSON.parse(response.toString())
  if (answer.error) return expectedError(answer.error.type === 'invalid_request_error' ? 400 : 500, response)
  const raw: Json = protocol === 'openai-chat' ? (answer.usage ?? answer.x_groq?.usage) : answer.usage
  const usage = raw ? (protocol === 'openai-chat' ? chatUsage(raw) : messagesUsage(raw)) : null
  const text = protocol === 'openai-chat' ? (answer.choices ?? []).map((choice: Json) => choice.message) : []
  return {
    kind: 'body',
    status: 200,
    body: response,
    message: null,
    usage,
    settlement: operation === 'count_tokens' ? 'none' : usage === null ? 'observed' : 'exact',
    observedTokens: Math.ceil(text.reduce((sum: number, message: Json) => sum + textIn(message), 0) / BYTES_PER_TOKEN),
  }
}

/** Messages of providers for an unknown model. */
const NO_MODEL = /"model_not_found"|"DeploymentNotFound"|"invalid_model"|is not a valid model ID"/

/** A 400 keeps the provider's message. An unknown model becomes a 404, any other error a 503, without that message. */
function expectedError(status: number, response: Buffer): Expected {
  if (status === 404 || (status === 400 && NO_MODEL.test(response.toString()))) {
    return { ...expectedError(500, response), status: 404 }
  }
  return {
    kind: 'error',
    status: status === 400 ? 400 : 503,
    body: Buffer.alloc(0),
    message: status === 400 ? messageOf(JSON.parse(response.toString())) : null,
    usage: null,
    settlement: 'none',
    observedTokens: 0,
  }
}

function messageOf(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return messageOf(value[0])
  const inner: Json = value.error ?? value.message ?? value.detail
  return inner === undefined ? '' : messageOf(inner)
}

/** Whether `shown` is `told` with redacted pieces. */
export function isRedactionOf(shown: string, told: string): boolean {
  const pieces = shown.split('[redacted]').map((piece) => piece.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  return pieces.some((piece) => piece.trim().length > 3) && new RegExp(pieces.join('[^]*')).test(told)
}
