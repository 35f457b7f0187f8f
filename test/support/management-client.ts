import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { OperationSpec } from '../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../src/shared/api/operations/index.ts'
import type { OperationName } from '../../src/shared/api/operations/index.ts'
import type { TestGateway } from './gateway.ts'
import { witness } from './management-witness.ts'

export interface ManagementAnswer {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON; null when it is not JSON. */
  readonly json: Record<string, unknown>
  readonly text: string
}

export interface Sent {
  readonly params?: Readonly<Record<string, string>>
  /** A list is a parameter that is repeated. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: unknown
  /** Replaces the token of the session; null: no token. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls operations like a client, and checks each answer against the OpenAPI document of the gateway. */
export class ManagementClient {
  readonly #url: string
  token: string | null

  constructor(url: string, token: string | null = null) {
    this.#url = url
    this.token = token
  }

  /** A client that is logged in as the first admin. */
  static async ofAdmin(gateway: Pick<TestGateway, 'url' | 'dataDir'>): Promise<ManagementClient> {
    const { admin } = JSON.parse(readFileSync(join(gateway.dataDir, 'first-run.json'), 'utf8')) as {
      admin: { phone: string; password: string }
    }
    const client = new ManagementClient(gateway.url)
    await client.login(admin.phone, admin.password)
    return client
  }

  async login(phone: string, password: string): Promise<void> {
    const { json } = await this.expect('login', 200, { body: { phone, password }, token: null })
    this.token = String(json['token'])
  }

  /** Calls an operation, and expects the status of the answer. */
  async expect(name: OperationName, status: number, sent: Sent = {}): Promise<ManagementAnswer> {
    const answer = await this.call(name, sent)
    expect(answer.status, `${name}: ${answer.text}`).toBe(status)
    return answer
  }

  async call(
    name: OperationName,
    { params = {}, query = {}, body, token = this.token, headers: more = {} }: Sent = {},
  ): Promise<ManagementAnswer> {
    const spec: OperationSpec = OPERATIONS[name]
    const path = spec.path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(params[param] ?? ''))
    const pairs = Object.entries(query).flatMap(([parameter, value]) =>
      [value].flat().map((one): [string, string] => [parameter, one]),
    )
    const url = `${this.#url}${path}?${new URLSearchParams(pairs).toString()}`
    const response = await fetch(url, {
      redirect: 'manual',
      method: spec.method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...more,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { status, headers } = response
    const contentType = headers.get('content-type')
    const text = contentType === 'text/event-stream' ? await firstPiece(response) : await response.text()
    const isJson = contentType?.startsWith('application/json') === true
    const json = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
    expect(headers.get('x-request-id')).toMatch(/^req_/)
    await witness(this.#url, name, spec, { status, contentType, json })
    return { status, headers, json, text }
  }
}

/** Streams of events have no end. */
async function firstPiece({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const piece = await reader?.read()
  await reader?.cancel()
  return Buffer.from(piece?.value ?? []).toString()
}
