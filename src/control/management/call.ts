import type { AnswerOf, BodyOf, OperationSpec, ParamsOf, QueryOf } from '../../shared/api/operation.ts'
import type { EnterpriseRole, PlatformRole } from '../../shared/api/roles.ts'
import type { OperationName, Operations } from '../../shared/api/operations/index.ts'

/** Who is logged in. */
export interface Caller {
  readonly userId: string
  readonly role: PlatformRole
  /** In the enterprise that the call is about; platform admins are as its owners. Null: it is about none. */
  readonly enterpriseRole: EnterpriseRole | null
  readonly tokenId: string
  readonly tokenExpiresAt: Date
}

/** What an operation is called with: checked, and by somebody who may. */
export interface Call<Spec extends OperationSpec> {
  readonly params: ParamsOf<Spec>
  readonly query: QueryOf<Spec>
  readonly body: BodyOf<Spec>
  readonly caller: Spec['access'] extends 'everyone' | 'scraper' ? null : Caller
  /** Names what is to be done once, however often it is asked for. */
  readonly idempotencyKey: string | null
  /** The client's. */
  readonly address: string
  /** As it came, for what is signed. Header names are in small letters. */
  readonly message: { readonly headers: Readonly<Partial<Record<string, string>>>; readonly body: Buffer }
  /** Has `work` done once all that the operation changes is committed; never, when it fails. */
  readonly afterCommit: (work: () => void) => void
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
}

/** An answer that is no JSON. Of a stream, each piece is asked for when the client has room. */
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

/** What each operation does: none may be missing. */
export type Handlers<Name extends OperationName = OperationName> = {
  readonly [Key in Name]: Handler<Operations[Key]>
}
