import type { TObject, TSchema } from 'typebox'

/** An endpoint of the data plane, as the documentation describes it. */
export interface DescribedEndpoint {
  /** `operationId` of the OpenAPI document. */
  readonly operation: string
  readonly method: 'GET' | 'POST'
  /** `{name}` stands for one segment. */
  readonly path: string
  readonly tag: 'Models' | 'Health'
  readonly summary: string
  readonly body?: TObject
  /** A body, where the fields that the schema requires would make a poor example. */
  readonly example?: object
  /** Null: the shape is that of the service whose protocol it is. */
  readonly answer: TSchema | null
  /** Of the events, where the answer may be a stream. */
  readonly event?: TSchema | undefined
  readonly query?: TObject | undefined
  /** Of an answer that is no JSON. */
  readonly media?: string | undefined
  /** Nobody needs a key: it is open, or the link says all. */
  readonly isOpen?: boolean
}
