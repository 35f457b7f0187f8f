import { expect } from 'vitest'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { eventually } from './eventually.ts'
import { startGateway } from './gateway.ts'
import type { GatewayOptions, TestGateway } from './gateway.ts'
import { ManagementClient } from './management-client.ts'

const PASSWORD = 'correct horse battery'
/** Captures have the lowest priority. */
const PATIENCE = { timeoutMs: 40_000, everyMs: 50 }

/** The setting that keeps everything. */
export const CAPTURE_ALL = { requests: true, answers: true }

export interface Person {
  readonly id: string
  readonly phone: string
  readonly client: ManagementClient
}

export interface CapturingTenant {
  readonly id: string
  readonly owner: ManagementClient
}

export interface Asked {
  readonly id: string
  /** The body that was sent. */
  readonly sent: string
  readonly text: string
  readonly status: number
}

export interface ShownBody {
  readonly text: string | null
  readonly bytes: number
  readonly truncated: boolean
  readonly complete: boolean
  readonly redactions: number
  readonly expires_at: string
}

export interface ShownBodies {
  readonly request: ShownBody | null
  readonly answer: ShownBody | null
}

/** A gateway before a simulator, and enterprises that capture. */
export class CaptureWorld {
  readonly gateway: TestGateway
  readonly admin: ManagementClient
  readonly simulator: Simulator
  #phones = 0

  private constructor(gateway: TestGateway, admin: ManagementClient, simulator: Simulator) {
    this.gateway = gateway
    this.admin = admin
    this.simulator = simulator
  }

  /** Serves `chat-model` and `embed` by chat completions, `claude` by messages. */
  static async start(options: GatewayOptions = {}): Promise<CaptureWorld> {
    const simulator = await startSimulator()
    const baseUrl = `${simulator.origin}/v1`
    const gateway = await startGateway({
      upstreams: [
        { id: 'chat', dialect: 'openai-chat', baseUrl, models: ['chat-model', 'embed'] },
        { id: 'messages', dialect: 'anthropic-messages', baseUrl, models: ['claude'] },
      ],
      ...options,
    })
    return new CaptureWorld(gateway, await ManagementClient.ofAdmin(gateway), simulator)
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.simulator.close()
  }

  async newUser(): Promise<Person> {
    const phone = `+12025556${String(this.#phones++).padStart(3, '0')}`
    const body = { phone, name: 'Ada', password: PASSWORD }
    const { json } = await this.admin.expect('adminCreateUser', 201, { body })
    const client = new ManagementClient(this.gateway.url)
    await client.login(phone, PASSWORD)
    return { id: String(json['id']), phone, client }
  }

  async newTenant(capture: object | null = CAPTURE_ALL): Promise<CapturingTenant> {
    const { phone, client } = await this.newUser()
    const body = { name: 'Acme', owner_phone: phone, capture }
    const { json } = await this.admin.expect('adminCreateEnterprise', 201, { body })
    return { id: String(json['id']), owner: client }
  }

  async newMember({ id }: CapturingTenant, role: string): Promise<Person & { readonly memberId: string }> {
    const person = await this.newUser()
    const invited = await this.admin.expect('invite', 201, { params: { id }, body: { phone: person.phone, role } })
    await person.client.expect('acceptInvitation', 200, { body: { token: invited.json['token'] } })
    const { json } = await this.admin.expect('listMembers', 200, { params: { id } })
    const members = json['data'] as Array<{ id: string; user: { phone: string } }>
    return { ...person, memberId: members.find(({ user }) => user.phone === person.phone)?.id ?? '' }
  }

  async newKey({ id, owner }: CapturingTenant, body: object = {}): Promise<string> {
    const made = await owner.expect('createEnterpriseKey', 201, { params: { id }, body: { name: 'k', ...body } })
    return String(made.json['key'])
  }

  /** Sends a request, and reads its whole answer. */
  async ask(key: string, body: object, path = '/v1/chat/completions'): Promise<Asked> {
    const sent = JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    }
    const response = await fetch(`${this.gateway.url}${path}`, { method: 'POST', headers, body: sent })
    const text = await response.text()
    return { id: response.headers.get('x-request-id') ?? '', sent, text, status: response.status }
  }

  chat(key: string, content = 'hi', more: object = {}): Promise<Asked> {
    return this.ask(key, { model: 'chat-model', messages: [{ role: 'user', content }], ...more })
  }

  /** The bodies of a request, once its row and both of them are there. */
  bodiesOf(
    { id, owner }: CapturingTenant,
    { id: logId }: Pick<Asked, 'id'>,
    isThere: (bodies: ShownBodies) => boolean = () => true,
  ): Promise<ShownBodies> {
    return eventually(async () => {
      const sent = { params: { id, logId }, query: { bodies: 'true' } }
      const { json } = await owner.expect('getEnterpriseLog', 200, sent)
      const bodies = json['bodies'] as ShownBodies | null
      if (bodies === null || !isThere(bodies)) throw new Error(`no bodies of ${logId}`)
      expect(json['captured']).toBe(true)
      return bodies
    }, PATIENCE)
  }

  /** The sum of the series of a counter. */
  async counter(name: string): Promise<number> {
    const { text } = await this.admin.expect('metrics', 200)
    const values = text.split('\n').flatMap((line) => (line.startsWith(name) ? [Number(line.split(' ').at(-1))] : []))
    return values.reduce((sum, value) => sum + value, 0)
  }
}
