import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

/** A mail server has ten seconds. */
const PATIENCE = { timeoutMs: 40_000 }

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

const received: Received[] = []
/** Takes connections and says nothing. */
const silent = createServer()
const smtp = new SMTPServer({
  authOptional: false,
  disabledCommands: ['STARTTLS'],
  allowInsecureAuth: true,
  onAuth: ({ username, password }, _session, done) => {
    const isKnown = username === 'us@er' && password === 'p%ss'
    done(isKnown ? null : new Error('unknown'), isKnown ? { user: username } : undefined)
  },
  onData: (stream, { envelope }, done) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
      const to = envelope.rcptTo.map(({ address }) => address)
      received.push({ from, to, text: Buffer.concat(chunks).toString() })
      done()
    })
  },
})

let gateway: TestGateway
let admin: ManagementClient
let enterpriseId: string

beforeAll(async () => {
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', () => resolve()))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', () => resolve()))
  gateway = await startWith(`smtp://us%40er:p%25ss@127.0.0.1:${portOf(smtp.server)}`)
  ;({ admin, enterpriseId } = await enterpriseIn(gateway, 'Acme\r\nBcc: evil@example.com'))
})

afterAll(async () => {
  await gateway.stop()
  await new Promise<void>((resolve) => smtp.close(() => resolve()))
  silent.close()
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port
const startWith = (url: string): Promise<TestGateway> =>
  startGateway({ config: { mail: { smtp: { url, from: 'sluice@example.com', require_tls: false } } } })

async function enterpriseIn(of: TestGateway, name: string): Promise<{ admin: ManagementClient; enterpriseId: string }> {
  const client = await ManagementClient.ofAdmin(of)
  const { json } = await client.expect('adminCreateEnterprise', 201, { body: { name } })
  return { admin: client, enterpriseId: String(json['id']) }
}

it('mails an invitation to the one who is invited, once, and tells the token to who invites', async () => {
  const sent = {
    params: { id: enterpriseId },
    body: { email: 'ada@example.com', role: 'employee' },
    headers: { 'idempotency-key': 'ada' },
  }
  const { json, text } = await admin.expect('invite', 201, sent)
  expect(json['mailed']).toBe(true)
  expect((await admin.expect('invite', 201, sent)).text).toBe(text)
  await admin.expect('invite', 201, { params: sent.params, body: { ...sent.body, email: 'bob@example.com' } })
  await eventually(() => {
    expect(received.flatMap(({ to }) => to)).toContain('bob@example.com')
  })
  const letters = received.filter(({ to }) => to.includes('ada@example.com'))
  expect(letters).toHaveLength(1)
  const [letter] = letters
  expect(letter).toMatchObject({ from: 'sluice@example.com', to: ['ada@example.com'] })
  const [headers = '', body = ''] = (letter?.text ?? '').split(/\r\n\r\n(.*)/s)
  expect(headers).not.toMatch(/bcc|evil/i)
  expect(headers).toMatch(/content-type: text\/plain/i)
  expect(body.replaceAll('=\r\n', '')).toContain(String(json['token']))
})

it.each([
  ['is down', (): string => 'smtp://127.0.0.1:9'],
  ['says nothing', (): string => `smtp://127.0.0.1:${portOf(silent)}`],
])('invites all the same when the mail server %s', async (_, url) => {
  const other = await startWith(url())
  try {
    const made = await enterpriseIn(other, 'Acme')
    for (let index = 0; index < 5; index++) {
      const { json } = await made.admin.expect('invite', 201, {
        params: { id: made.enterpriseId },
        body: { email: `a${index}@example.com`, role: 'employee' },
      })
      expect(json['token']).toMatch(/^[\w-]{32}$/)
    }
    await eventually(() => {
      expect(other.output).toContain('a letter could not be sent')
    }, PATIENCE)
  } finally {
    await other.stop()
  }
})
