import type { AnswerOf, BodyOf, OperationSpec, ParamsOf, QueryOf } from '../../shared/api/operation.ts'
import type { EnterpriseRole, PlatformRole } from '../../shared/api/roles.ts'
import type { OperationName, Operations } from '../../shared/api/operations/index.ts'

/** The user who is logged in. */
export interface Caller {
  readonly userId: string
  readonly role: PlatformRole
  /** The role in the enterprise of the call; platform admins act as owners. Null when the call has no enterprise. */
  readonly enterpriseRole: EnterpriseRole | null
  readonly tokenId: string
  readonly tokenExpiresAt: Date
}

/** The input of an operation, validated and authorised. */
export interface Call<Spec extends OperationSpec> {
  readonly params: ParamsOf<Spec>
  readonly query: QueryOf<Spec>
  readonly body: BodyOf<Spec>
  readonly caller: Spec['access'] extends 'everyone' | 'scraper' ? null : Caller
  /** The client's `Idempotency-Key`. */
  readonly idempotencyKey: string | null
  /** The IP address of the client. */
  readonly address: string
  /** The raw request, for signatures over it. Header names are in lower case. */
  readonly message: { readonly headers: Readonly<Partial<Record<string, string>>>; readonly body: Buffer }
  /** Runs `work` once the changes of the operation are committed, and never when the operation fails. */
  readonly afterCommit: (work: () => void) => void
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** A response that is not JSON. A stream is read piece by piece, as fast as the client takes it. */
export class Download {
  readonly contentType: string
  readonly body: string | AsyncIterable<Buffer>
  readonly fileName: string | null

  constructor(contentType: string, body: string | AsyncIterable<Buffer>, fileName: string | null = null) {
    this.contentType = contentType
    this.body = body
    this.fileName = fileName
  }
}

type AnswerTo<Spec extends OperationSpec> = Spec['answer'] extends { readonly media: string | readonly string[] }
  ? Download
  : AnswerOf<Spec>

export type Handler<Spec extends OperationSpec> = (call: Call<Spec>) => Promise<AnswerTo<Spec>>

/** The handler of each operation; a missing one does not compile. */
export type Handlers<Name extends OperationName = OperationName> = {
  readonly [Key in Name]: Handler<Operations[Key]>
}
