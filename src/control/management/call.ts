import type { AnswerOf, BodyOf, OperationSpec, ParamsOf, QueryOf } from '../../shared/api/operation.ts'
import type { EnterpriseRole, PlatformRole } from '../../shared/api/roles.ts'
import type { OperationName, Operations } from '../../shared/api/operations/index.ts'
import type { Audited } from './audit-changes.ts'

/** The user who is logged in. */
export interface Caller {
  readonly userId: string
  readonly role: PlatformRole
  /** The role in the enterprise of the call; platform admins act as owners. Null when the call has no enterprise. */
  readonly enterpriseRole: EnterpriseRole | null
  readonly tokenId: string
  readonly tokenExpiresAt: Date
  /** The session generation of the user in the token. */
  readonly generation: number
}

/** The input of an operation, validated and authorised. */
export interface Call<Spec extends OperationSpec> {
  readonly params: ParamsOf<Spec>
  readonly query: QueryOf<Spec>
  readonly body: BodyOf<Spec>
  readonly caller: Spec['access'] extends 'everyone' | 'scraper' ? null : Caller
  /** The IP address of the client. */
  readonly address: string
  readonly requestId: string
  /** The raw request, for signatures over it. Header names are in lower case. */
  readonly message: { readonly headers: Readonly<Partial<Record<string, string>>>; readonly body: Buffer }
  /** Checks the caller's session and rights again, for work that goes on. Rejects when the caller may not do this any more. */
  readonly recheck: () => Promise<void>
  /** Runs `work` once the changes of the operation are committed, and never when the operation fails. */
  readonly afterCommit: (work: () => void) => void
  /**
   * Tells the audit log what the operation changed. Only for resources that have no GET: of the others the log compares what the GET
   * shows before and after.
   */
  readonly audit: (changed: Audited) => void
  /** The `spend` of answers stays null. */
  readonly withoutSpend?: boolean
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

/** Sends the browser to another page. */
export class Redirect {
  readonly location: string
  /** The `Set-Cookie` field; null: none. */
  readonly cookie: string | null

  constructor(location: string, cookie: string | null) {
    this.location = location
    this.cookie = cookie
  }
}

type AnswerTo<Spec extends OperationSpec> = Spec['answer'] extends { readonly status: 302 }
  ? Redirect
  : Spec['answer'] extends { readonly media: string | readonly string[] }
    ? Download
    : AnswerOf<Spec>

export type Handler<Spec extends OperationSpec> = (call: Call<Spec>) => Promise<AnswerTo<Spec>>

/** The handler of each operation; a missing one does not compile. */
export type Handlers<Name extends OperationName = OperationName> = {
  readonly [Key in Name]: Handler<Operations[Key]>
}
