import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../shared/api/operation.ts'
import type { OperationName, Operations } from '../shared/api/operations/index.ts'
import type { ByteStream } from './byte-stream.ts'
import type { CallOptions } from './options.ts'
import type { ROUTES } from './routes.ts'

type Routes = typeof ROUTES

/** The operations of the management plane that this client knows. */
export type ClientOperation = Extract<keyof Routes, OperationName>

/** A member of its own, which may be left out where nothing in it is required. */
type Part<Name extends string, Value> = Value extends null
  ? unknown
  : Record<string, never> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value }

/** What an operation is sent: `params` of its path, `query`, `body`, each where it has one. */
export type RequestOf<Name extends ClientOperation> = Part<'params', ParamsOf<Operations[Name]>> &
  Part<'query', QueryOf<Operations[Name]>> &
  Part<'body', BodyOf<Operations[Name]>>

/** What an operation answers; files come as bytes. */
export type ResultOf<Name extends ClientOperation> = Routes[Name]['answer'] extends 'bytes'
  ? ByteStream
  : AnswerOf<Operations[Name]>

/** The request may be left out where nothing in it is required. */
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

/** The operations that answer with pages of a list. */
export type ListOperation = {
  [Name in ClientOperation]: AnswerOf<Operations[Name]> extends Page ? Name : never
}[ClientOperation]

export type ItemOf<Name extends ListOperation> =
  AnswerOf<Operations[Name]> extends { readonly data: ReadonlyArray<infer Item> } ? Item : never
