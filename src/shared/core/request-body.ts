import type { Tags } from './tags.ts'

/** The position of one member of the body's top-level object, as byte offsets into the body. */
export interface MemberSpan {
  readonly name: string
  /** The opening quote of the name. */
  readonly start: number
  readonly valueStart: number
  /** After the last byte of the value. */
  readonly valueEnd: number
}

/** A request body that passed validation: its bytes, and the data that routing and limits need. */
export interface RequestBody {
  readonly bytes: Buffer
  /** Top-level members in order, for edits that leave all other bytes alone. */
  readonly members: readonly MemberSpan[]
  readonly model: string
  readonly stream: boolean
  /** The client asked for usage in the stream (chat: `stream_options.include_usage`; messages: always). */
  readonly wantsUsage: boolean
  /** The largest answer the client allows in tokens (`max_completion_tokens`, `max_tokens`); null: it did not say. */
  readonly maxOutputTokens: number | null
  /** The number of answers asked for (`n`), 1 by default. */
  readonly choices: number
  /** Tools of servers of the gateway are asked for: the control process runs the chat. */
  readonly namesServers: boolean
  /** A fast estimate of the prompt, made from the text of the body. */
  readonly estimatedPromptTokens: number
  /** A value of the body that all requests of one conversation share; null: the body has none. */
  readonly affinity: string | null
  /** Null: the upstream's answer passes unchanged. */
  readonly expected: ExpectedAnswer | null
  /** Null: none. Headers may add more. */
  readonly tags: Tags | null
}

/** The part of a RequestBody that comes from its fields; the rest comes from the bytes. */
export type RequestFields = Pick<
  RequestBody,
  'model' | 'stream' | 'wantsUsage' | 'maxOutputTokens' | 'choices' | 'namesServers' | 'expected' | 'tags'
> & { readonly hasTools: boolean }

/** The form that an answer is checked against and converted to. Plain data: it goes to worker threads. */
export type ExpectedAnswer =
  | {
      readonly kind: 'embeddings'
      /** `as-is`: of a type that the gateway does not know. */
      readonly encoding: 'float' | 'base64' | 'as-is'
      readonly inputs: number
    }
  | {
      readonly kind: 'rerank'
      readonly documents: number
      /** Null: all. */
      readonly topN: number | null
      /** Whether results may hold their documents. */
      readonly showsDocuments: boolean
      /** Whether results must hold their documents, also when the upstream leaves them out. */
      readonly wantsDocuments: boolean
    }
  | { readonly kind: 'images'; readonly wantsUrl: boolean; readonly count: number }
  | { readonly kind: 'video'; readonly waits: boolean }
