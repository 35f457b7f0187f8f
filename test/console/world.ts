import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { SluiceClient } from '../../src/client/index.ts'
import { eventually } from '../support/eventually.ts'
import type { TestGateway } from '../support/gateway.ts'

export interface Person {
  readonly phone: string
  readonly password: string
}

const PASSWORD = 'correct horse battery'

/** The admin of the first run. */
export function firstAdmin(gateway: TestGateway): Person {
  const { admin } = JSON.parse(readFileSync(join(gateway.dataDir, 'first-run.json'), 'utf8')) as { admin: Person }
  return admin
}

export async function clientOf(gateway: TestGateway, person: Person): Promise<SluiceClient> {
  const client = new SluiceClient({ baseUrl: gateway.url })
  await client.login({ phone: person.phone, password: person.password })
  return client
}

export async function newPerson(gateway: TestGateway, name: string, phone: string): Promise<Person & { id: string }> {
  const admin = await clientOf(gateway, firstAdmin(gateway))
  const { id } = await admin.call('adminCreateUser', { body: { name, phone, password: PASSWORD } })
  return { id, phone, password: PASSWORD }
}

/** Logs in through the form of whatever page is open. */
export async function logIn(page: Page, { phone, password }: Person): Promise<void> {
  await page.getByLabel('Phone number').fill(phone)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

interface Asked {
  readonly model?: string
  readonly text?: string
  readonly stream?: boolean
  readonly tag?: string
  readonly userAgent?: string
  readonly maxTokens?: number
}

/** Sends a request to a model; resolves to its id when it has ended. */
export async function ask(gateway: TestGateway, key: string, asked: Asked = {}): Promise<string> {
  const { model = 'sim-gpt', text = 'Say hello', stream = false, tag, userAgent, maxTokens = 60 } = asked
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(tag === undefined ? {} : { 'x-sluice-tag-team': tag }),
      ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
    },
    body: JSON.stringify({ model, stream, max_tokens: maxTokens, messages: [{ role: 'user', content: text }] }),
  })
  await answer.text()
  return answer.headers.get('x-request-id') ?? ''
}

/** Waits until the bodies of a request are stored. */
export async function captured(client: SluiceClient, enterpriseId: string, logId: string): Promise<void> {
  await eventually(
    async () => {
      const { captured: isStored } = await client.call('getEnterpriseLog', { params: { id: enterpriseId, logId } })
      expect(isStored).toBe(true)
    },
    { timeoutMs: 40_000 },
  )
}

/** Waits until the request log has these requests. */
export async function settled(client: SluiceClient, ids: readonly string[]): Promise<void> {
  // They may have been answered at the same time, and are stored in any order.
  for (const id of ids.toReversed()) {
    await eventually(
      async () => {
        const { data } = await client.call('adminListLogs', { query: { request_id: id } })
        expect(data).toHaveLength(1)
      },
      { timeoutMs: 30_000 },
    )
  }
}
