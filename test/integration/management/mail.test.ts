import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { itLater } from '../../support/dose.ts'
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
/** What becomes of connections to the mail server: it serves them, or says nothing. */
let isSilent = false
const held = new Set<Socket>()
/** In front of the mail server. */
const entrance = createServer((socket) => {
  held.add(socket)
  socket.on('close', () => held.delete(socket)).on('error', () => undefined)
  if (!isSilent) smtp.server.emit('connection', socket)
})
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
  await new Promise<void>((resolve) => entrance.listen(0, '127.0.0.1', resolve))
  const { port } = entrance.address() as AddressInfo
  gateway = await startGateway({
    config: {
      mail: {
        smtp: { url: `smtp://us%40er:p%25ss@127.0.0.1:${port}`, from: 'sluice@example.com', require_tls: false },
      },
    },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  const { json } = await admin.expect('adminCreateEnterprise', 201, { body: { name: 'Acme\r\nBcc: evil@example.com' } })
  enterpriseId = String(json['id'])
})

afterAll(async () => {
  await gateway.stop()
  await goDown()
})

async function fallSilent(): Promise<void> {
  isSilent = true
}

async function goDown(): Promise<void> {
  if (!entrance.listening) return
  const closed = new Promise((resolve) => entrance.close(resolve))
  for (const socket of held) socket.destroy()
  await closed
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
  expect(headers).not.toMatch(/^bcc:|evil/im)
  expect(headers).toMatch(/content-type: text\/plain/i)
  expect(body.replaceAll('=\r\n', '')).toContain(String(json['token']))
})

it('mails five invitations an hour to one address, and says when the next one may be', async () => {
  const sent = { params: { id: enterpriseId }, body: { email: 'often@example.com', role: 'employee' } }
  const [invitationId] = await Promise.all(
    Array.from({ length: 4 }, async () => String((await admin.expect('invite', 201, sent)).json['id'])),
  )
  const resent = { params: { id: enterpriseId, invitationId: invitationId ?? '' } }
  const { json } = await admin.expect('resendInvitation', 200, resent)
  expect(json['mailed']).toBe(true)
  const listed = await admin.expect('listInvitations', 200, { params: sent.params })
  for (const refused of [
    await admin.expect('invite', 429, { ...sent, body: { ...sent.body, email: 'Often@example.com' } }),
    await admin.expect('resendInvitation', 429, resent),
  ]) {
    expect(refused.json['error']).toMatchObject({
      code: 'EMAILS_THROTTLED',
      message: expect.stringContaining('5 of them to one address') as string,
    })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500)
  }
  expect((await admin.expect('listInvitations', 200, { params: sent.params })).text).toBe(listed.text)
  await admin.expect('invite', 201, { params: sent.params, body: { phone: '+12025550177', role: 'employee' } })
})

itLater('mails a hundred invitations an hour for an enterprise, and those of others all the same', async () => {
  const of = async (name: string): Promise<{ id: string }> => ({
    id: String((await admin.expect('adminCreateEnterprise', 201, { body: { name } })).json['id']),
  })
  const [one, other] = [await of('One'), await of('Other')]
  for (let mailed = 0; mailed < 100;) {
    const body = { email: `many-${mailed}@example.com`, role: 'employee' }
    const { json } = await admin.expect('invite', 201, { params: one, body })
    // The queue may be half full.
    if (json['mailed'] === true) mailed += 1
  }
  const body = { email: 'one-more@example.com', role: 'employee' }
  await eventually(() => admin.expect('invite', 429, { params: one, body }))
  await admin.expect('invite', 201, { params: other, body })
})

/** The server that is down comes last: it stays so. */
const TROUBLES = [
  ['says nothing', '10000 ms', fallSilent],
  ['is down', 'ECONNREFUSED', goDown],
] as const

it.each(inject('tier') === 'long' ? TROUBLES : TROUBLES.slice(1))(
  'invites all the same when the mail server %s',
  async (name, reason, begin) => {
    await begin()
    const known = gateway.output.length
    for (let index = 0; index < 5; index++) {
      const { json } = await admin.expect('invite', 201, {
        params: { id: enterpriseId },
        body: { email: `${name.replace(' ', '-')}-${index}@example.com`, role: 'employee' },
      })
      expect(json['token']).toMatch(/^[\w-]{32}$/)
    }
    await eventually(() => {
      const told = gateway.output.slice(known)
      expect(told).toContain('an e-mail could not be sent')
      expect(told).toContain(reason)
    }, PATIENCE)
  },
)
