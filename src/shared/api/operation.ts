import { Type } from 'typebox'
import type { Static, TArray, TObject, TOptional, TSchema } from 'typebox'
import { nullable } from './nullable.ts'
import type { EnterpriseAction } from './roles.ts'

/**
 * The callers of an operation. `scraper`: admins, and callers with the configured token. `user`: logged-in users. An action: users
 * who may do it in the enterprise of the path's `{id}`.
 */
export type Access = 'everyone' | 'scraper' | 'user' | 'platform-admin' | EnterpriseAction

/** One route of the management plane. Routing, authorisation, validation, documentation and the client are made from it. */
export interface OperationSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `{name}` stands for one segment. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly access: Access
  /** The access that the parameter `bodies=true` needs besides. Each such call has a row in the audit log. */
  readonly bodiesAccess?: Access
  /** Strings are converted to the numbers and booleans of the schema. */
  readonly query?: TObject
  readonly body?: TObject
  /** False: it changes no stored data, whatever its method says. */
  readonly isChange?: false
  /** False: it ignores an Idempotency-Key, because it checks a secret before its transaction, which such a key would begin. */
  readonly isIdempotent?: false
  readonly answer: AnswerSpec
}

export interface AnswerSpec {
  readonly status: 200 | 201 | 204 | 302
  /** Null: the body is empty, or not JSON. */
  readonly schema: TSchema | null
  /** Media type of a body without a schema; several where the request decides. */
  readonly media?: string | readonly string[]
}

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream'

export function operation<const Spec extends OperationSpec>(spec: Spec): Spec {
  return spec
}

/** Whether it runs in one transaction with its row in the audit log. */
export function isChange(spec: OperationSpec): boolean {
  return spec.method !== 'GET' && spec.isChange !== false
}

/** Whether the call shows captured bodies. */
export function showsBodies({ bodiesAccess }: OperationSpec, query: unknown): boolean {
  return bodiesAccess !== undefined && (query as { readonly bodies?: unknown }).bodies === true
}

/** Whether repetitions with the same Idempotency-Key take effect once. */
export function takesIdempotencyKey(spec: OperationSpec): boolean {
  return isChange(spec) && spec.method === 'POST' && spec.access !== 'everyone' && spec.isIdempotent !== false
}

type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamNames<Rest> : never

export type ParamsOf<Spec extends OperationSpec> = Readonly<Record<ParamNames<Spec['path']>, string>>
export type QueryOf<Spec extends OperationSpec> = Spec extends { readonly query: infer Query extends TSchema }
  ? Readonly<Static<Query>>
  : Readonly<Record<string, never>>
export type BodyOf<Spec extends OperationSpec> = Spec extends { readonly body: infer Body extends TSchema }
  ? Readonly<Static<Body>>
  : null
export type AnswerOf<Spec extends OperationSpec> = Spec['answer'] extends {
  readonly schema: infer Answer extends TSchema
}
  ? Static<Answer>
  : null

export const ok = <const Schema extends TSchema>(
  schema: Schema,
): { readonly status: 200; readonly schema: Schema } => ({
  status: 200,
  schema,
})
export const created = <const Schema extends TSchema>(
  schema: Schema,
): { readonly status: 201; readonly schema: Schema } => ({ status: 201, schema })
export const NOTHING = { status: 204, schema: null } as const
/** The browser goes on to another page. */
export const REDIRECT = { status: 302, schema: null } as const

const MAX_LIMIT = 100
const MAX_PAGE = 1_000_000_000

/** Query of every list. */
export const PageQuery = {
  page: Type.Optional(Type.Integer({ description: 'From 1.', minimum: 1, maximum: MAX_PAGE, default: 1 })),
  limit: Type.Optional(
    Type.Integer({ description: 'Entries on a page.', minimum: 1, maximum: MAX_LIMIT, default: 20 }),
  ),
}

/** The number of rows of a long list that pages reach and that its total counts. */
export const MAX_PAGED_ROWS = 10_000

/** Query of long lists: by page, or by cursor, which costs the same at any distance. */
export const LongPageQuery = {
  // No default, so that a missing page differs from page 1.
  page: Type.Optional(Type.Integer({ description: 'From 1; 1 by default.', minimum: 1 })),
  limit: PageQuery.limit,
  cursor: Type.Optional(
    Type.String({
      description: 'next_cursor of the previous page, instead of page.',
      minLength: 1,
      maxLength: 400,
    }),
  ),
}

export type ListOf<Item extends TSchema> = TObject<{
  data: TArray<Item>
  page: typeof Page
  limit: typeof Limit
  total: typeof Total
  has_more: typeof HasMore
  next_cursor: typeof NextCursor
}>

const Page = Type.Integer({ description: 'From 1.', minimum: 1 })
const Limit = Type.Integer({ minimum: 1, maximum: MAX_LIMIT })
const Total = Type.Integer({ description: 'Entries on all pages together.', minimum: 0 })
const HasMore = Type.Boolean({ description: 'Another page follows.' })
const NextCursor = nullable(Type.String({ description: 'For the next page, where the list takes a cursor.' }))

export function listOf<Item extends TSchema>(item: Item): ListOf<Item> {
  return Type.Object({
    data: Type.Array(item),
    page: Page,
    limit: Limit,
    total: Total,
    has_more: HasMore,
    next_cursor: NextCursor,
  })
}

type LongListOf<Item extends TSchema> = TObject<{
  data: TArray<Item>
  page: TOptional<typeof Page>
  limit: typeof Limit
  total: TOptional<typeof LongTotal>
  has_more: typeof HasMore
  next_cursor: typeof NextCursor
}>

const LongTotal = Type.Integer({
  description: `Counted up to ${MAX_PAGED_ROWS}; left out with a cursor.`,
  minimum: 0,
  maximum: MAX_PAGED_ROWS,
})

export function longListOf<Item extends TSchema>(item: Item): LongListOf<Item> {
  return Type.Object({
    data: Type.Array(item),
    page: Type.Optional(Page),
    limit: Limit,
    total: Type.Optional(LongTotal),
    has_more: HasMore,
    next_cursor: NextCursor,
  })
}

export const Time = Type.String({ description: 'ISO 8601, UTC.', format: 'date-time' })
export const Id = Type.String({ minLength: 1, maxLength: 200 })
export const Email = Type.String({
  description: 'An e-mail address.',
  pattern: '^[^@\\s]{1,64}@[^@\\s]{1,190}$',
  examples: ['ada@example.com'],
  maxLength: 254,
})
/** A name that people give. */
export const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' })
