import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../shared/api/operation.ts'
import type { OperationName, Operations } from '../shared/api/operations/index.ts'
import type { ByteStream } from './byte-stream.ts'
import type { CallOptions } from './options.ts'
import type { ROUTES } from './routes.ts'

type Routes = typeof ROUTES

/** The operations of the management plane that this client knows. */
export type ClientOperation = Extract<keyof Routes, OperationName>

/** A member of the request. It is optional when none of its fields is required. */
type Part<Name extends string, Value> = Value extends null
  ? unknown
  : Record<string, never> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value }

/** The request of an operation: `params` of its path, `query` and `body`, each where it has one. */
export type RequestOf<Name extends ClientOperation> = Part<'params', ParamsOf<Operations[Name]>> &
  Part<'query', QueryOf<Operations[Name]>> &
  Part<'body', BodyOf<Operations[Name]>>

/** The answer of an operation. A file is a ByteStream. */
export type ResultOf<Name extends ClientOperation> = Routes[Name]['answer'] extends 'bytes'
  ? ByteStream
  : AnswerOf<Operations[Name]>

/** The request is optional when none of its fields is required. */
export type CallArguments<Name extends ClientOperation> =
  Record<string, never> extends RequestOf<Name>
    ? [request?: RequestOf<Name>, options?: CallOptions]
    : [request: RequestOf<Name>, options?: CallOptions]

type Method<Name extends ClientOperation> = (...args: CallArguments<Name>) => Promise<ResultOf<Name>>

/** All operations as methods, in groups. */
export type Management = {
  readonly [Group in Routes[ClientOperation]['group']]: {
    readonly [Name in ClientOperation as Routes[Name]['group'] extends Group ? Name : never]: Method<Name>
  }
}

interface Page {
  readonly data: readonly unknown[]
  readonly has_more: boolean
}

/** The operations whose answer is a page of a list. */
export type ListOperation = {
  [Name in ClientOperation]: AnswerOf<Operations[Name]> extends Page ? Name : never
}[ClientOperation]

export type ItemOf<Name extends ListOperation> =
  AnswerOf<Operations[Name]> extends { readonly data: ReadonlyArray<infer Item> } ? Item : never
