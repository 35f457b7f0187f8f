import { startGateway } from './gateway.ts'
import type { GatewayOptions, TestGateway } from './gateway.ts'
import { ManagementClient } from './management-client.ts'

const PASSWORD = 'correct horse battery'

export interface McpUser {
  readonly id: string
  readonly client: ManagementClient
  readonly token: string
}

/** A gateway, its admin, and users that a test makes. */
export class McpWorld {
  readonly gateway: TestGateway
  readonly admin: ManagementClient
  #users = 0

  private constructor(gateway: TestGateway, admin: ManagementClient) {
    this.gateway = gateway
    this.admin = admin
  }

  static async start(options: GatewayOptions = {}): Promise<McpWorld> {
    const gateway = await startGateway(options)
    return new McpWorld(gateway, await ManagementClient.ofAdmin(gateway))
  }

  async user(): Promise<McpUser> {
    this.#users += 1
    const phone = `+120255540${String(this.#users).padStart(2, '0')}`
    const { json } = await this.admin.expect('adminCreateUser', 201, {
      body: { phone, name: 'Ada', password: PASSWORD },
    })
    const client = new ManagementClient(this.gateway.url)
    await client.login(phone, PASSWORD)
    return { id: String(json['id']), client, token: client.token ?? '' }
  }

  async enterprise(name: string): Promise<string> {
    return String((await this.admin.expect('adminCreateEnterprise', 201, { body: { name } })).json['id'])
  }

  /** A new user with a role in an enterprise. */
  async member(enterpriseId: string, role: string): Promise<McpUser> {
    const user = await this.user()
    const phone = `+120255540${String(this.#users).padStart(2, '0')}`
    const invited = await this.admin.expect('invite', 201, { params: { id: enterpriseId }, body: { phone, role } })
    await user.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    return user
  }

  /** A new key of a user, with its secret. */
  async key(user: McpUser, body: object = {}): Promise<{ readonly id: string; readonly key: string }> {
    const { json } = await user.client.expect('createKey', 201, { body: { name: 'a key', ...body } })
    return { id: String(json['id']), key: String(json['key']) }
  }
}
