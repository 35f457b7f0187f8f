import { AddressList } from '../../shared/core/address-list.ts'
import { digestApiKey, isApiKey } from '../../shared/core/api-key.ts'
import { bearerToken } from '../../shared/core/bearer.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'
import type { AccessTokens } from '../management/access-tokens.ts'
import type { Caller } from '../management/call.ts'
import type { ClientOrigin, Guard } from '../management/guard.ts'
import { namesOtherIssuer } from '../management/tokens.ts'
import type { Queryable } from '../store/database.ts'
import { findEntryKey, stillUsableKeys } from '../store/entry-keys.ts'
import { listMemberships } from '../store/enterprises.ts'
import type { Membership } from '../store/enterprises.ts'
import { liveTokens } from '../store/sessions.ts'

interface Credential {
  /** The owner of sessions: one user, or one key. */
  readonly subject: string
  /** Requests for the caller are in the trace of its own request, where it has one. */
  readonly origin: ClientOrigin & { readonly traceparent?: string }
}

/** A user with a token. */
export interface UserCaller extends Credential {
  readonly kind: 'user'
  readonly user: Caller
  /** The header with a token of this gateway. Management operations check it again. */
  readonly authorization: string
}

/** An entry key that may use tools. */
export interface KeyCaller extends Credential {
  readonly kind: 'key'
  readonly key: EntryKey
}

export type McpCaller = UserCaller | KeyCaller

export interface McpCallersOptions {
  readonly database: Queryable
  readonly guard: Guard
  /** Null: there is no OpenID provider. */
  readonly accessTokens: AccessTokens | null
  /** The secret for the digests of entry keys. */
  readonly keyHash: Buffer
}

/**
 * Authenticates the callers of the tool server: users by a token of this gateway or of the OpenID provider, and entry keys that are
 * allowed tools.
 */
export class McpCallers {
  readonly #options: McpCallersOptions

  constructor(options: McpCallersOptions) {
    this.#options = options
  }

  /** Rejects with TOKEN_INVALID, SIGN_IN_DENIED, ISSUER_UNAVAILABLE, a refusal of the key, or TOOLS_DENIED. */
  async identify(headers: Readonly<Record<string, string | undefined>>, address: string): Promise<McpCaller> {
    const origin = { address, userAgent: headers['user-agent'] ?? '' }
    const bearer = bearerToken(headers['authorization'])
    const sent = bearer ?? headers['x-api-key']?.trim() ?? headers['api-key']?.trim() ?? ''
    if (sent.startsWith('sk-')) return this.#key(sent, origin)
    const { guard, accessTokens } = this.#options
    const isOfProvider = bearer !== null && accessTokens !== null && namesOtherIssuer(bearer)
    // The provider's token is for the tool server alone, and goes no further.
    const authorization = isOfProvider ? `Bearer ${await accessTokens.exchange(bearer)}` : headers['authorization']
    const user = await guard.identify('user', authorization, origin)
    if (user === null || authorization === undefined) throw new GatewayError('TOKEN_INVALID')
    return { kind: 'user', subject: `user:${user.userId}`, user, authorization, origin }
  }

  /** Those of the callers whose credentials have ended. */
  async ended(callers: Iterable<McpCaller>, nowMs: number): Promise<Set<McpCaller>> {
    const all = [...callers]
    const users = all.flatMap((caller) => (caller.kind === 'user' ? [caller.user] : []))
    const keyIds = all.flatMap((caller) => (caller.kind === 'key' ? [caller.key.id] : []))
    const { database } = this.#options
    const tokens = users.length === 0 ? new Set() : await liveTokens(database, users)
    const keys = keyIds.length === 0 ? new Set() : await stillUsableKeys(database, keyIds)
    const isLive = (caller: McpCaller): boolean =>
      caller.kind === 'key'
        ? keys.has(caller.key.id)
        : tokens.has(caller.user.tokenId) && caller.user.tokenExpiresAt.getTime() > nowMs
    return new Set(all.filter((caller) => !isLive(caller)))
  }

  /** The enterprises in which the caller has a role. */
  async memberships(caller: McpCaller): Promise<readonly Membership[]> {
    return caller.kind === 'key' ? [] : listMemberships(this.#options.database, caller.user.userId)
  }

  async #key(sent: string, origin: ClientOrigin): Promise<KeyCaller> {
    const { database, keyHash } = this.#options
    const key = isApiKey(sent) ? await findEntryKey(database, digestApiKey(sent, keyHash)) : null
    if (key === null) throw new GatewayError('KEY_UNKNOWN')
    if (!key.enabled) throw new GatewayError('KEY_DISABLED')
    if (key.expiresAtMs !== null && key.expiresAtMs <= Date.now()) throw new GatewayError('KEY_EXPIRED')
    if (key.addresses !== null && !new AddressList(key.addresses).has(origin.address)) {
      throw new GatewayError('ADDRESS_DENIED')
    }
    if (key.clients !== null && !key.clients.some((prefix) => origin.userAgent.startsWith(prefix))) {
      throw new GatewayError('CLIENT_DENIED')
    }
    if ((key.tools ?? []).length === 0) {
      throw new GatewayError('TOOLS_DENIED', {
        message: 'This API key may not use tools: its owner can allow them with mcp_tools.',
      })
    }
    return { kind: 'key', subject: `key:${key.id}`, key, origin }
  }
}

/** Whether the key may use the tool: `*` at the end of an entry stands for any rest. */
export function keyAllows({ tools }: EntryKey, name: string): boolean {
  return (tools ?? []).some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry))
}
