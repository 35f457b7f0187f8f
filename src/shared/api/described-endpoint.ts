import type { TObject, TSchema } from 'typebox'

/** An endpoint that is no management operation, as the documentation describes it. */
export interface DescribedEndpoint {
  /** `operationId` of the OpenAPI document. */
  readonly operation: string
  readonly method: 'GET' | 'POST'
  /** `{name}` stands for one segment. */
  readonly path: string
  readonly tag: 'Models' | 'Health' | 'Tools'
  readonly summary: string
  readonly body?: TObject
  /** An example body, where the fields that the schema requires would make a poor one. */
  readonly example?: object
  /** Null: the answer is that of the protocol's own service. */
  readonly answer: TSchema | null
  /** Schema of the events, where the answer may be a stream. */
  readonly event?: TSchema | undefined
  readonly query?: TObject | undefined
  /** Media type of an answer that is not JSON. */
  readonly media?: string | undefined
  /** It needs no key: it is open, or a signed link authorises the request. */
  readonly isOpen?: boolean
  /** It takes the token of a session as well as a key. */
  readonly takesSession?: boolean
}
