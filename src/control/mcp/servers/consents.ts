import { createHash, randomBytes } from 'node:crypto'
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client'
import type { PlatformRole } from '../../../shared/api/roles.ts'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import type { Seal } from '../../../shared/runtime/seal.ts'
import type { Queryable } from '../../store/database.ts'
import {
  findOAuthClient,
  forgetOAuthClient,
  insertConsent,
  putGrant,
  putOAuthClient,
  takeConsent,
} from '../../store/tool-server-grants.ts'
import { mayUse, rightsOfUser } from './access.ts'
import { configuredClient, GrantRefused, OAuthClient } from './oauth-client.ts'
import type { Authority, PendingConsent } from './oauth-client.ts'
import type { ServerBook } from './server-book.ts'
import type { TransportParts } from './transports.ts'

const CONSENT_MS = 600_000
const STATE_BYTES = 32

export interface ConsentsOptions {
  readonly database: Queryable
  readonly seal: Seal
  readonly book: ServerBook
  readonly parts: TransportParts
  /** The address to which authorization servers send browsers back; null: the operator has set no address. */
  readonly redirectUrl: string | null
}

/** A user with the session that authorises. */
export interface ConsentingUser {
  readonly userId: string
  readonly role: PlatformRole
  readonly tokenId: string
}

/** A consent whose token is here, and not kept yet. */
export interface FinishedConsent {
  readonly server: ToolServer
  /** Keeps the grant. Returns false when the user is not active any more. */
  readonly keep: (tx: Queryable) => Promise<boolean>
}

/**
 * Gets grants of users at tool servers with OAuth:
 *
 *   start ── state, PKCE verifier, client: sealed, for one session ──► authorization server ──► console
 *   console ── code and state, with the token of the same session ──► finish: the grant
 *
 * A link to the authorization server is of no use to somebody else: only the session that began finishes, and once.
 */
export class Consents {
  readonly #options: ConsentsOptions

  constructor(options: ConsentsOptions) {
    this.#options = options
  }

  /** The servers with OAuth that the user may use. */
  async serversFor(user: Omit<ConsentingUser, 'tokenId'>): Promise<ToolServer[]> {
    const { book, database } = this.#options
    const servers = (await book.servers()).map(({ server }) => server)
    const wanted = servers.filter(({ enabled, oauth }) => enabled && oauth !== null)
    if (wanted.length === 0) return []
    const rights = await rightsOfUser(database, user)
    return wanted.filter((server) => mayUse(server, rights))
  }

  /** Returns the page at which the user authorises the gateway. Rejects with NOT_FOUND, CONFLICT and the errors of upstreams. */
  async start(user: ConsentingUser, serverId: string): Promise<{ readonly url: string; readonly expiresAt: Date }> {
    const { redirectUrl, database, seal } = this.#options
    const { server, url } = await this.#serverFor(user, serverId)
    if (redirectUrl === null) {
      const message = 'The operator has to set server.base_url: authorization servers send browsers back to it.'
      throw new GatewayError('CONFLICT', { message })
    }
    const oauth = new OAuthClient(server, url, this.#options.parts)
    const authority = await oauth.discover()
    const client = await this.#clientAt(oauth, server, authority, redirectUrl)
    const state = randomBytes(STATE_BYTES).toString('base64url')
    const { authorizationUrl, pending } = await oauth.begin(authority, client, { redirectUrl, state })
    const { userId, tokenId: sessionId } = user
    const digest = digestOf(state)
    await insertConsent(database, seal, { digest, userId, sessionId, serverId, secrets: pending, lifeMs: CONSENT_MS })
    return { url: authorizationUrl, expiresAt: new Date(Date.now() + CONSENT_MS) }
  }

  /** Exchanges the code. Rejects with INVALID_FIELD for a state that is not one of this session, with NOT_FOUND, and the errors of upstreams. */
  async finish(
    user: ConsentingUser,
    { state, code, iss }: { readonly state: string; readonly code: string; readonly iss: string | undefined },
  ): Promise<FinishedConsent> {
    const { database, seal, parts } = this.#options
    const { userId, tokenId: sessionId } = user
    const taken = await takeConsent<PendingConsent>(database, seal, { digest: digestOf(state), userId, sessionId })
    if (taken === null) {
      const message = 'The state is unknown, was used already, took too long, or is of another session. Begin again.'
      throw new GatewayError('INVALID_FIELD', { message, param: '/state' })
    }
    const { serverId, secrets: pending } = taken
    const { server, url } = await this.#serverFor(user, serverId)
    if (pending.url !== url) {
      throw new GatewayError('CONFLICT', { message: 'The tool server has another address now. Begin again.' })
    }
    const { scope, ...secrets } = await new OAuthClient(server, url, parts)
      .finish(pending, { code, iss })
      .catch((cause: unknown) => this.#refused(serverId, pending, cause))
    return { server, keep: (tx) => putGrant(tx, seal, { userId, serverId, secrets, scope }) }
  }

  async #serverFor(user: ConsentingUser, id: string): Promise<{ readonly server: ToolServer; readonly url: string }> {
    const server = (await this.serversFor(user)).find((one) => one.id === id)
    if (server === undefined || !('url' in server.place)) throw new GatewayError('NOT_FOUND')
    return { server, url: server.place.url }
  }

  /** The configured client, or the one that the gateway has registered, now or earlier. */
  async #clientAt(
    oauth: OAuthClient,
    server: ToolServer,
    authority: Authority,
    redirectUrl: string,
  ): Promise<OAuthClientInformationMixed> {
    const configured = configuredClient(server)
    if (configured !== null) return configured
    const { database, seal } = this.#options
    const place = { serverId: server.id, issuer: authority.metadata.issuer, redirectUrl }
    const known = await findOAuthClient<OAuthClientInformationMixed>(database, seal, place)
    if (known !== null && !hasEnded(known)) return known
    const registered = await oauth.register(authority, redirectUrl).catch((cause: unknown) => {
      throw cause instanceof GrantRefused ? refusedBy(cause) : cause
    })
    await putOAuthClient(database, seal, place, registered)
    return registered
  }

  async #refused(serverId: string, { metadata, client }: PendingConsent, cause: unknown): Promise<never> {
    if (!(cause instanceof GrantRefused)) throw cause
    if (cause.isClient) {
      // The next start registers another one.
      const { database, seal } = this.#options
      await forgetOAuthClient(database, seal, { serverId, issuer: metadata.issuer }, client.client_id)
    }
    throw refusedBy(cause)
  }
}

function refusedBy(cause: GrantRefused): GatewayError {
  const message = cause.isClient
    ? 'The authorization server of the tool server does not know this gateway (any more). Begin again.'
    : 'The authorization server of the tool server does not take the code. Begin again.'
  return new GatewayError('UPSTREAM_AUTH', { message, cause })
}

function hasEnded(client: OAuthClientInformationMixed): boolean {
  const endsAt = 'client_secret_expires_at' in client ? (client.client_secret_expires_at ?? 0) : 0
  return endsAt !== 0 && endsAt * 1_000 < Date.now() + CONSENT_MS
}

function digestOf(state: string): string {
  return createHash('sha256').update(state).digest('hex')
}
