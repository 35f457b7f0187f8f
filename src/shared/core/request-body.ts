/** Where one member of the body's top-level object stands, as byte offsets into the body. */
export interface MemberSpan {
  readonly name: string
  /** Of the opening quote of the name. */
  readonly start: number
  readonly valueStart: number
  /** Behind the last byte of the value. */
  readonly valueEnd: number
}

/** A request body that passed validation: its bytes, and what routing and limits need to know of it. */
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
  /** How many answers are asked for (`n`), 1 by default. */
  readonly choices: number
  /** A fast estimate of the prompt, made from the text of the body. */
  readonly estimatedPromptTokens: number
  /** What the requests of one conversation have in common, as far as the body tells; null: it does not. */
  readonly affinity: string | null
  readonly expected: ExpectedAnswer | null
}

/** What of a request is in its fields; the rest of a RequestBody comes from the bytes. */
export type RequestFields = Pick<
  RequestBody,
  'model' | 'stream' | 'wantsUsage' | 'maxOutputTokens' | 'choices' | 'expected'
> & { readonly hasTools: boolean }

/** What an answer is checked against and brought to; null where the upstream's own is passed on. Plain: it goes to the pool. */
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
      /** Whether results may hold what they rank. */
      readonly showsDocuments: boolean
      /** Results are to hold what they rank, also where the upstream leaves it out. */
      readonly wantsDocuments: boolean
    }
  | { readonly kind: 'images'; readonly wantsUrl: boolean; readonly count: number }
  | { readonly kind: 'video'; readonly waits: boolean }
