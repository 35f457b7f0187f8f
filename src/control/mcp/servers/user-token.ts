import type { GatewayError } from '../../../shared/core/errors.ts'

/** The credential with which a user's connection calls a server. */
export interface UserToken {
  /** The present token. Rejects with AUTHORIZATION_NEEDED. */
  token(): Promise<string>
  /** The server has refused this token: gets another one, unless there is one already. Rejects with AUTHORIZATION_NEEDED. */
  refused(token: string): Promise<void>
  /** Tokens that were given, which texts of the server must not repeat. */
  readonly given: readonly string[]
  /** The error that leads the user to a new consent. */
  needed(): GatewayError
}
