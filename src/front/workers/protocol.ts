import type { AnswerRequest, BufferedAnswer } from '../../shared/core/dialect.ts'
import type { BodyDialectName, DialectName } from '../../shared/core/endpoint.ts'
import type { ErrorCode } from '../../shared/core/errors.ts'
import type { RequestBody } from '../../shared/core/request-body.ts'
import type { ServiceCalls } from '../../dialects/services/calls.ts'
import type { ServiceTarget, ServiceAnswerRules } from '../../dialects/services/codec.ts'
import type {
  AnswerTranslation,
  Pair,
  TargetEdits,
  TranslatedAnswer,
  TranslatedRequest,
} from '../../dialects/translate.ts'

/** The tasks of the pool. Workers read bytes in shared memory in place; other bytes are transferred. */
export type Task =
  | {
      readonly kind: 'check-body'
      readonly endpoint: string
      readonly bytes: Uint8Array
      readonly limits: BodyLimits
    }
  | {
      readonly kind: 'translate-request'
      readonly pair: Pair
      readonly edits: TargetEdits
      readonly bytes: Uint8Array
    }
  | { readonly kind: 'translate-answer'; readonly translation: AnswerTranslation; readonly bytes: Uint8Array }
  | CountTask
  | { readonly kind: 'build-calls'; readonly ask: ServiceTarget; readonly bytes: Uint8Array }
  | { readonly kind: 'read-calls'; readonly reading: ServiceAnswerRules; readonly bytes: Uint8Array }
  | {
      readonly kind: 'read-answer'
      readonly dialect: BodyDialectName
      readonly request: AnswerRequest
      readonly bytes: Uint8Array
    }

/** Counts the tokens of a request or an answer in the client's dialect. */
export interface CountTask {
  readonly kind: 'count-prompt' | 'count-answer'
  readonly dialect: DialectName
  /** The upstream's name of the model. */
  readonly model: string
  readonly bytes: Uint8Array
}

export interface BodyLimits {
  readonly maxDepth: number
  readonly maxElements: number
}

export type TaskResult =
  | { readonly kind: 'body'; readonly body: Omit<RequestBody, 'bytes'> }
  | {
      readonly kind: 'answer'
      readonly answer: Omit<BufferedAnswer, 'body'>
      /** The body for the client; null: the upstream's body unchanged. */
      readonly bytes: Uint8Array | null
    }
  | {
      readonly kind: 'translated'
      readonly request: Omit<TranslatedRequest, 'body'>
      readonly bytes: Uint8Array
    }
  | {
      readonly kind: 'translated-answer'
      readonly answer: Omit<TranslatedAnswer, 'body'>
      /** The body for the client; null: the upstream's body unchanged. */
      readonly bytes: Uint8Array | null
    }
  | {
      readonly kind: 'calls'
      readonly calls: Omit<ServiceCalls, 'bodies'>
      /** The lengths of the bodies, which `bytes` contains one after the other. */
      readonly lengths: readonly number[]
      readonly bytes: Uint8Array
    }
  | { readonly kind: 'counted'; readonly tokens: number }
  | { readonly kind: 'refused'; readonly error: TransferredError }

/** A GatewayError in a form that can be sent between threads. */
export interface TransferredError {
  readonly code: ErrorCode
  readonly message: string
  readonly param: string | null
}
