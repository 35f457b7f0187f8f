import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import type { Seal } from '../../../shared/runtime/seal.ts'
import type { Queryable } from '../../store/database.ts'
import {
  claimRenewal,
  deleteGrant,
  findGrant,
  forgetOAuthClient,
  releaseRenewal,
  renewGrant,
} from '../../store/tool-server-grants.ts'
import type { SealedGrant } from '../../store/tool-server-grants.ts'
import { configuredClient, GrantRefused, OAuthClient } from './oauth-client.ts'
import type { GrantSecrets } from './oauth-client.ts'
import { asOwnFault } from './server-errors.ts'
import type { TransportParts } from './transports.ts'
import type { UserToken } from './user-token.ts'

/** A machine that renews a token has this long, with all its requests. */
const LEASE_MS = 30_000
/** Others look for the new token as often. */
const LOOK_MS = 200

export interface GrantsOptions {
  readonly database: Queryable
  readonly seal: Seal
  readonly parts: TransportParts
  /** The page at which users connect their accounts with tool servers; null: the operator has set no address. */
  readonly connectUrl: string | null
}

type Grant = SealedGrant<GrantSecrets>

/** The grants of users to tool servers with OAuth. Each user's token goes to the server that it is for, and nowhere else. */
export class Grants {
  readonly #options: GrantsOptions
  /** Renewals of this process, by user and server. */
  readonly #renewing = new Map<string, Promise<Grant | null>>()

  constructor(options: GrantsOptions) {
    this.#options = options
  }

  /** Whether the user has a grant that is for the present address of the server. */
  async has(server: ToolServer, userId: string): Promise<boolean> {
    return (await this.#find(server, userId)) !== null
  }

  /** The page that leads to a grant; null: the operator has set no address. */
  connectUrl({ id }: ToolServer): string | null {
    const { connectUrl } = this.#options
    return connectUrl === null ? null : `${connectUrl}/${id}`
  }

  needed(server: ToolServer): GatewayError {
    const url = this.connectUrl(server)
    const how = url === null ? 'The operator has to set server.base_url first.' : `Open ${url} and authorise it.`
    return new GatewayError('AUTHORIZATION_NEEDED', {
      message: `The tool server ${server.id} needs your authorisation. ${how}`,
    })
  }

  tokenOf(server: ToolServer, userId: string): UserToken {
    const given: string[] = []
    const handOut = ({ secrets: { accessToken } }: Grant): string => {
      if (given.at(-1) !== accessToken) given.push(accessToken)
      if (given.length > 2) given.shift()
      return accessToken
    }
    return {
      given,
      needed: () => this.needed(server),
      token: async () => handOut(await asOwnFault(this.#present(server, userId))),
      refused: (token) => asOwnFault(this.#replaced(server, userId, token)),
    }
  }

  /** The grant with a token that is good for some time. Rejects with AUTHORIZATION_NEEDED. */
  async #present(server: ToolServer, userId: string): Promise<Grant> {
    const grant = await this.#find(server, userId)
    if (grant === null) throw this.needed(server)
    const { renewAtMs } = grant.secrets
    const isFresh = renewAtMs === null || Date.now() < renewAtMs
    return isFresh ? grant : this.#renewed(server, userId, grant)
  }

  async #replaced(server: ToolServer, userId: string, token: string): Promise<void> {
    const grant = await this.#find(server, userId)
    if (grant === null) throw this.needed(server)
    // Another call, or another machine, has a newer one already.
    if (grant.secrets.accessToken !== token) return
    await this.#renewed(server, userId, grant)
  }

  async #find({ id, place }: ToolServer, userId: string): Promise<Grant | null> {
    const { database, seal } = this.#options
    const grant = await findGrant<GrantSecrets>(database, seal, { userId, serverId: id })
    return grant !== null && 'url' in place && grant.secrets.url === place.url ? grant : null
  }

  /** Rejects with AUTHORIZATION_NEEDED when the grant has ended. */
  async #renewed(server: ToolServer, userId: string, grant: Grant): Promise<Grant> {
    const key = JSON.stringify([userId, server.id])
    const renewing =
      this.#renewing.get(key) ??
      this.#renew(server, userId, grant).finally(() => {
        this.#renewing.delete(key)
      })
    this.#renewing.set(key, renewing)
    const renewed = await renewing
    if (renewed === null) throw this.needed(server)
    return renewed
  }

  /** One machine renews, because a refresh token may be of use only once; the others wait for what it stores. */
  async #renew(server: ToolServer, userId: string, grant: Grant): Promise<Grant | null> {
    const { database } = this.#options
    const owner = { userId, serverId: server.id }
    const untilMs = performance.now() + LEASE_MS
    let known = grant
    for (;;) {
      if (await claimRenewal(database, owner, known.version, LEASE_MS)) return this.#exchange(server, userId, known)
      const now = await this.#find(server, userId)
      if (now === null || now.version !== grant.version) return now
      if (performance.now() > untilMs) {
        throw new GatewayError('UPSTREAM_TIMEOUT', { message: 'The token of the tool server was not renewed in time.' })
      }
      known = now
      await delay(LOOK_MS)
    }
  }

  async #exchange(server: ToolServer, userId: string, { secrets, version }: Grant): Promise<Grant | null> {
    const { database, seal, parts } = this.#options
    const owner = { userId, serverId: server.id }
    // Its secret may be another one since the consent.
    const configured = configuredClient(server)
    const own = configured?.client_id === secrets.client.client_id ? configured : null
    try {
      const client = own ?? secrets.client
      const renewed = await new OAuthClient(server, secrets.url, parts).renew({ ...secrets, client })
      await renewGrant(database, seal, { ...owner, secrets: renewed }, version)
      return await this.#find(server, userId)
    } catch (cause) {
      // An admin can correct the settings of a client. The grant then is as good as before.
      if (cause instanceof GrantRefused && !(cause.isClient && own !== null)) {
        if (cause.isClient) await this.#forgetClient(server, secrets)
        await deleteGrant(database, owner, version)
        return null
      }
      await releaseRenewal(database, owner, version)
      throw cause instanceof GrantRefused ? this.needed(server) : cause
    }
  }

  /** The next consent registers another client. */
  async #forgetClient({ id: serverId }: ToolServer, { client, metadata: { issuer } }: GrantSecrets): Promise<void> {
    const { database, seal } = this.#options
    await forgetOAuthClient(database, seal, { serverId, issuer }, client.client_id)
  }
}
