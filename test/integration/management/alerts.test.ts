import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway.ts'
import type { GatewayOptions, TestGateway } from '../../support/gateway.ts'
import { INNER_HOSTS } from '../../support/inner-addresses.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { WebhookReceiver } from '../../support/webhook-receiver.ts'

const PASSWORD = 'correct horse battery'
const PATIENCE = { timeoutMs: 40_000 }

interface Channel {
  readonly id: string
  readonly webhook: string | null
  readonly mail: string | null
  readonly secret?: string | null
}

const mails: Array<{ to: string; text: string }> = []
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, { envelope }, done) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      mails.push({ to: envelope.rcptTo.map(({ address }) => address).join(), text: Buffer.concat(chunks).toString() })
      done()
    })
  },
})
const entrance = createServer((socket) => {
  smtp.server.emit('connection', socket)
})

const NETWORK = fileURLToPath(new URL('../../support/closed-network.mjs', import.meta.url))
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-alerts-'))
const network = join(dataDir, 'network.json')
/** Addresses that the gateway without exceptions has connected to. */
const reached = join(dataDir, 'reached')
let simulator: Simulator
let receiver: WebhookReceiver
/** An upstream that refuses every key. */
let refusing: WebhookReceiver
let options: GatewayOptions
let gateway: TestGateway
/** As installed: no mail, and webhooks on the public Internet alone. */
let plain: TestGateway
let admin: ManagementClient
let owner: ManagementClient
let params: { readonly id: string }
let key: string

beforeAll(async () => {
  simulator = await startSimulator()
  receiver = await WebhookReceiver.start()
  refusing = await WebhookReceiver.start()
  refusing.otherwise = 401
  await new Promise<void>((resolve) => entrance.listen(0, '127.0.0.1', resolve))
  const { port } = entrance.address() as AddressInfo
  options = {
    dataDir,
    apiKey: generateApiKey(),
    upstreams: [
      { id: 'up', dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] },
      { id: 'refusing', dialect: 'openai-chat', baseUrl: `${refusing.url('/401')}`, models: ['bad'] },
    ],
    config: {
      models: [{ id: 'm', prices: { input: 0, output: 1_000_000 } }],
      alerts: { check_interval_ms: 200, private_webhooks: ['127.0.0.1'] },
      mail: { smtp: { url: `smtp://127.0.0.1:${port}`, from: 'sluice@example.com', require_tls: false } },
    },
  }
  gateway = await startGateway(options)
  options = { ...options, ...(gateway.databaseUrl === null ? {} : { database: { url: gateway.databaseUrl } }) }
  const names = { 'inner.example.com': [['10.0.0.1']], 'turning.example.com': [['169.254.169.254']] }
  writeFileSync(network, JSON.stringify({ names, here: [], log: reached }))
  writeFileSync(reached, '')
  plain = await startGateway({ env: { NODE_OPTIONS: `--import ${NETWORK}`, SLUICE_TEST_NETWORK: network } })
  admin = await ManagementClient.ofAdmin(gateway)
  owner = await newOwner('+12025557001')
  const body = { name: 'Acme', owner_phone: '+12025557001', monthly_budget: 100 }
  params = { id: String((await admin.expect('adminCreateEnterprise', 201, { body })).json['id']) }
  key = String((await owner.expect('createEnterpriseKey', 201, { params, body: { name: 'k' } })).json['key'])
}, 120_000)

afterAll(async () => {
  await gateway.stop()
  await plain.stop()
  await simulator.close()
  await receiver.close()
  await refusing.close()
  entrance.close()
  rmSync(dataDir, { recursive: true, force: true })
})

async function newOwner(phone: string): Promise<ManagementClient> {
  await admin.expect('adminCreateUser', 201, { body: { phone, name: 'Ada', password: PASSWORD } })
  const client = new ManagementClient(gateway.url)
  await client.login(phone, PASSWORD)
  return client
}

async function make(body: object): Promise<{ id: string; channels: Channel[] }> {
  const { json } = await owner.expect('createAlert', 201, { params, body })
  return json as { id: string; channels: Channel[] } & Record<string, unknown>
}

/** Spends micro-units: a token of an answer costs one. */
async function spend(tokens: number): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        max_tokens: tokens,
        messages: [{ role: 'user', content: `hi [[sim ${JSON.stringify({ tokens })}]]` }],
      }),
    })
    expect(answer.status, await answer.text()).toBe(200)
  })
}

const deliveries = async (query: Record<string, string> = {}): Promise<Array<Record<string, unknown>>> =>
  (await owner.expect('listAlertDeliveries', 200, { params, query })).json['data'] as Array<Record<string, unknown>>

it('shows a secret once, keeps the settings that are not sent, and deletes', async () => {
  const made = await make({
    kind: 'budget',
    name: 'Money',
    threshold: 90,
    owners: ['department'],
    quiet: { from: '22:00', to: '07:00' },
    channels: [{ webhook: receiver.url('/a') }, { mail: 'ops@example.com' }],
  })
  expect(made.channels.map(({ secret }) => secret)).toEqual([expect.stringMatching(/^whsec_[\w+/]{43}=$/), null])
  const one = { params: { ...params, alertId: made.id } }
  const shown = (await owner.expect('getAlert', 200, one)).json
  expect(shown).toMatchObject({
    kind: 'budget',
    name: 'Money',
    threshold: 90,
    owners: ['department'],
    quiet: { from: '22:00', to: '07:00' },
    enabled: true,
    channels: [
      { webhook: receiver.url('/a'), mail: null },
      { webhook: null, mail: 'ops@example.com' },
    ],
  })
  expect(JSON.stringify(shown)).not.toContain('whsec_')
  expect((await owner.expect('listAlerts', 200, { params })).json).toMatchObject({ total: 1, data: [shown] })

  const channels = [
    ...made.channels.map(({ id, webhook, mail }) => ({ id, webhook, mail })),
    { webhook: receiver.url('/b') },
  ]
  const changed = await owner.expect('updateAlert', 200, { ...one, body: { channels, quiet: null, enabled: false } })
  expect(changed.json).toMatchObject({ threshold: 90, quiet: null, enabled: false })
  const after = changed.json['channels'] as Channel[]
  expect(after.slice(0, 2).map(({ id }) => id)).toEqual(made.channels.map(({ id }) => id))
  expect(after.map(({ secret }) => secret)).toEqual([null, null, expect.stringMatching(/^whsec_/)])
  // Nothing of secrets is in the audit log.
  const audit = await admin.expect('adminAudit', 200, { query: { limit: '100' } })
  expect(audit.text).not.toContain('whsec_')
  expect(audit.text).toContain('ops@example.com')
  expect(audit.text).not.toContain(receiver.url('/a'))
  const { headers } = await owner.expect('getAlert', 200, one)
  await owner.expect('updateAlert', 200, {
    ...one,
    body: { name: 'x' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  await owner.expect('updateAlert', 412, {
    ...one,
    body: { name: 'y' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  await owner.expect('deleteAlert', 204, one)
  await owner.expect('deleteAlert', 404, one)
})

const WEBHOOK = [{ webhook: 'https://hooks.example.com/x' }]

it.each([
  [{ kind: 'weather', channels: WEBHOOK }, '/kind', 'kind must be one of budget, wallet, error_rate'],
  [{ kind: 'upstream_down', channels: WEBHOOK }, '/kind', 'kind must be one of budget'],
  [{ kind: 'budget' }, '/channels', 'channels is required'],
  [{ kind: 'budget', channels: [] }, '/channels', 'must not be empty'],
  [{ kind: 'budget', channels: [{}] }, '/channels/0', 'either {"webhook"'],
  [
    { kind: 'budget', channels: [{ webhook: 'https://a.example.com', mail: 'a@example.com' }] },
    '/channels/0',
    'either',
  ],
  [{ kind: 'budget', channels: [...WEBHOOK, ...WEBHOOK] }, '/channels/1', 'listed twice'],
  [{ kind: 'budget', channels: [{ mail: 'nobody' }] }, '/channels/0/mail', 'must look like ops@example.com'],
  [{ kind: 'budget', channels: WEBHOOK, threshold: 0 }, '/threshold', 'between 1 and 1000'],
  [{ kind: 'key_disabled', channels: WEBHOOK, threshold: 1 }, '/threshold', 'has no threshold'],
  [{ kind: 'wallet', channels: WEBHOOK, owners: ['key'] }, '/owners', 'Only budget alerts'],
  [{ kind: 'wallet', channels: WEBHOOK, min_requests: 5 }, '/min_requests', 'error_rate and latency'],
  [{ kind: 'budget', channels: WEBHOOK, quiet: { from: '25:00', to: '07:00' } }, '/quiet/from', '22:00'],
  [{ kind: 'budget', channels: WEBHOOK, quiet: { from: '07:00', to: '07:00' } }, '/quiet/to', 'must differ'],
  [{ kind: 'budget', channels: WEBHOOK, until: 1 }, '/until', 'no field of this name'],
])('refuses %j', async (body, param, message) => {
  const { json } = await owner.expect('createAlert', 400, { params, body })
  expect(json['error']).toMatchObject({
    code: 'INVALID_FIELD',
    param,
    message: expect.stringContaining(message) as string,
  })
})

itLater(
  'takes no webhook that is not public, not at https:// or holds a password, and no e-mail without a mail server',
  async () => {
    const operator = await ManagementClient.ofAdmin(plain)
    const urls = [
      ...INNER_HOSTS.flatMap((host) => [`https://${host}/x`, `http://${host}:8080/x`]),
      'http://hooks.example.com/x',
      'https://user:pass@hooks.example.com/x',
      'https://hooks.example.com@127.0.0.1/x',
      'ftp://hooks.example.com/x',
      'hooks.example.com',
    ]
    for (const webhook of urls) {
      const body = { kind: 'certificate', channels: [{ webhook }] }
      const { json } = await operator.expect('adminCreateAlert', 400, { body })
      expect(json['error'], webhook).toMatchObject({ code: 'INVALID_FIELD', param: '/channels/0/webhook' })
    }
    const refused = await operator.expect('adminCreateAlert', 400, {
      body: { kind: 'certificate', channels: [{ webhook: 'http://127.0.0.1:1/x' }] },
    })
    expect(refused.text).toContain('alerts.private_webhooks')
    const mail = await operator.expect('adminCreateAlert', 400, {
      body: { kind: 'certificate', channels: [{ mail: 'a@example.com' }] },
    })
    expect(mail.json['error']).toMatchObject({
      param: '/channels/0/mail',
      message: expect.stringContaining('mail.smtp') as string,
    })
    // The address is checked where the connection is opened.
    for (const host of ['inner.example.com', 'turning.example.com']) {
      const body = { kind: 'certificate', channels: [{ webhook: `https://${host}/x` }] }
      const { json } = await operator.expect('adminCreateAlert', 201, { body })
      const tested = await operator.expect('adminTestAlert', 200, { params: { id: String(json['id']) } })
      expect(tested.json).toMatchObject({
        ok: false,
        channels: [{ ok: false, status: null, error: 'The host has no address that may be called.' }],
      })
    }
    expect(readFileSync(reached, 'utf8')).toBe('')
  },
)

itLater('tests every channel at once, tells what came of it, and does so only so often', async () => {
  const { id: alertId, channels } = await make({
    kind: 'latency',
    quiet: { from: '00:00', to: '23:59' },
    channels: [{ webhook: receiver.url('/t') }, { webhook: receiver.url('/t2') }, { mail: 'ops@example.com' }],
  })
  const one = { params: { ...params, alertId } }
  receiver.answers.push(302)
  const { json } = await owner.expect('testAlert', 200, one)
  const results = json['channels'] as Array<Record<string, unknown>>
  expect(json['ok']).toBe(false)
  expect(results.map(({ ok, status }) => [ok, status]).sort()).toEqual(
    [
      [false, 302],
      [true, 204],
      [true, null],
    ].sort(),
  )
  const [message] = receiver.at('/t')
  expect(message?.json).toMatchObject({ type: 'alert.test', data: { alert_id: alertId, kind: 'latency' } })
  new Webhook(channels[0]?.secret ?? '').verify(message?.body ?? '', message?.headers ?? {})
  await eventually(() =>
    expect(mails.some(({ to, text }) => to === 'ops@example.com' && /This is a test/.test(text))).toBe(true),
  )
  const told = await deliveries({ alert_id: alertId })
  expect(told.map(({ kind, attempts }) => [kind, attempts])).toEqual([
    ['test', 1],
    ['test', 1],
    ['test', 1],
  ])
  expect(told.map(({ status }) => status).sort()).toEqual(['delivered', 'delivered', 'failed'])

  let refused = await owner.call('testAlert', one)
  while (refused.status === 200) refused = await owner.call('testAlert', one)
  expect(refused).toMatchObject({ status: 429, json: { error: { code: 'RPM_EXCEEDED' } } })
  await owner.expect('testAlert', 404, { params: { ...params, alertId: 'alert_x' } })
  await owner.expect('deleteAlert', 204, one)
})

itLater('rotates a secret: both sign for the grace period, and then the new one alone', async () => {
  const { json } = await admin.expect('adminCreateAlert', 201, {
    body: { kind: 'certificate', channels: [{ webhook: receiver.url('/rotated') }] },
  })
  const [channel] = json['channels'] as Channel[]
  const ids = { id: String(json['id']), channelId: channel?.id ?? '' }
  const secrets = [channel?.secret ?? '']
  const rotate = async (graceSeconds: number): Promise<void> => {
    const answer = await admin.expect('adminRotateAlertSecret', 200, {
      params: ids,
      body: { grace_seconds: graceSeconds },
    })
    secrets.push(String(answer.json['secret']))
  }
  const valid = async (): Promise<boolean[]> => {
    await admin.expect('adminTestAlert', 200, { params: ids })
    const message = receiver.at('/rotated').at(-1)
    return secrets.map((secret) => {
      try {
        return new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {}) !== null
      } catch {
        return false
      }
    })
  }
  await rotate(3_600)
  expect(await valid()).toEqual([true, true])
  await rotate(0)
  expect(await valid()).toEqual([false, false, true])
  await admin.expect('adminRotateAlertSecret', 404, { params: { ...ids, channelId: 'chan_x' }, body: {} })
  await admin.expect('adminGetAlert', 200, { params: ids })
  // Things of the platform belong to no enterprise.
  await admin.expect('getAlert', 404, { params: { ...params, alertId: ids.id } })
  await admin.expect('adminUpdateAlert', 200, { params: ids, body: { kind: 'certificate', threshold: 30 } })
  const other = await admin.expect('adminUpdateAlert', 400, { params: ids, body: { kind: 'budget' } })
  expect(other.json['error']).toMatchObject({ param: '/kind' })
  expect((await admin.expect('adminListAlerts', 200)).json).toMatchObject({ total: 1 })
  expect((await admin.expect('adminListAlertDeliveries', 200)).json).toMatchObject({ total: 2 })
  await admin.expect('adminListAlertDeliveries', 400, { query: { cursor: 'bm90IG91cnM' } })
  await admin.expect('adminDeleteAlert', 204, { params: ids })
  await admin.expect('adminDeleteAlert', 404, { params: ids })
  await admin.expect('adminTestAlert', 404, { params: ids })
  await admin.expect('adminGetAlert', 404, { params: ids })
  await admin.expect('adminListAlerts', 400, { query: { limit: '1000' } })
  await admin.expect('adminCreateAlert', 400, { body: {} })
})

it(
  'tells of real spend by webhook and e-mail, once, also when the gateway is restarted between attempts',
  { timeout: 180_000 },
  async () => {
    const { channels, id: alertId } = await make({
      kind: 'budget',
      channels: [{ webhook: receiver.url('/spend') }, { mail: 'money@example.com' }],
    })
    const secret = channels[0]?.secret ?? ''
    receiver.answers.length = 0
    await spend(55)
    await eventually(() => {
      expect(receiver.at('/spend').map(({ json }) => json.data['threshold'])).toEqual([50])
    }, PATIENCE)
    const [first] = receiver.at('/spend')
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toMatchObject({
      type: 'alert.budget',
      data: { alert_id: alertId, enterprise_id: params.id, subject: { type: 'enterprise', id: params.id }, value: 55 },
    })
    // The next message fails first; then the gateway is killed.
    receiver.answers.push(500)
    await spend(30)
    await eventually(() => {
      expect(receiver.at('/spend')).toHaveLength(2)
    }, PATIENCE)
    await eventually(async () => {
      expect(await deliveries({ alert_id: alertId, status: 'pending' })).toMatchObject([
        { attempts: 1, response_status: 500 },
      ])
    })
    await gateway.end('SIGKILL')
    gateway = await startGateway(options)
    admin = await ManagementClient.ofAdmin(gateway)
    owner = new ManagementClient(gateway.url)
    await owner.login('+12025557001', PASSWORD)
    await eventually(async () => {
      expect(receiver.at('/spend').map(({ json }) => json.data['threshold'])).toEqual([50, 80, 80])
      expect((await deliveries({ alert_id: alertId })).map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    }, PATIENCE)
    const ids = receiver.at('/spend').map(({ headers }) => headers['webhook-id'])
    expect(ids[1]).toBe(ids[2])
    expect(ids[0]).not.toBe(ids[1])
    // Some more checks tell nothing more.
    await spend(1)
    await eventually(async () => {
      const { json } = await owner.expect('getEnterprise', 200, { params })
      expect(json['spend']).toMatchObject({ spent: 86 })
    }, PATIENCE)
    await make({ kind: 'budget', threshold: 70, channels: [{ webhook: receiver.url('/later') }] })
    await eventually(() => {
      expect(receiver.at('/later')).toHaveLength(1)
    }, PATIENCE)
    expect(receiver.at('/spend')).toHaveLength(3)
    expect(
      mails.filter(({ to }) => to === 'money@example.com').map(({ text }) => /Subject: (.*)\r/.exec(text)?.[1]),
    ).toEqual(['Sluice alert: budget', 'Sluice alert: budget'])
    const page = await owner.expect('listAlertDeliveries', 200, { params, query: { limit: '1' } })
    const next = await owner.expect('listAlertDeliveries', 200, {
      params,
      query: { limit: '100', cursor: String(page.json['next_cursor']) },
    })
    const [newest] = page.json['data'] as Array<{ id: string }>
    expect((next.json['data'] as Array<{ id: string }>).map(({ id }) => id)).not.toContain(newest?.id)
  },
)

itLater(
  'tells of an upstream and its key that are out, and of failing requests, once',
  { timeout: 120_000 },
  async () => {
    const watched = ['key_disabled', 'upstream_down'] as const
    for (const kind of watched) {
      await admin.expect('adminCreateAlert', 201, { body: { kind, channels: [{ webhook: receiver.url(`/${kind}`) }] } })
    }
    await make({ kind: 'error_rate', threshold: 50, min_requests: 3, channels: [{ webhook: receiver.url('/errors') }] })
    const ask = async (): Promise<void> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'bad', messages: [{ role: 'user', content: 'hi' }] }),
      })
      expect(answer.status, await answer.text()).toBe(503)
    }
    // The first look at the rollups may come after the first requests.
    await eventually(async () => {
      for (let n = 0; n < 4; n++) await ask()
      const paths = receiver.received.map(({ path }) => path)
      expect(paths).toEqual(expect.arrayContaining(['/key_disabled', '/upstream_down', '/errors']))
    }, PATIENCE)
    const subjects = watched.map((kind) => receiver.at(`/${kind}`).map(({ json }) => json.data['subject']))
    expect(subjects).toMatchObject([[{ type: 'upstream_key' }], [{ type: 'upstream', id: 'refusing' }]])
    expect(receiver.at('/errors').map(({ json }) => json.data)).toMatchObject([
      { enterprise_id: params.id, threshold: 50, value: 100 },
    ])
  },
)

it('has a summary mailed to whom the enterprise names', async () => {
  expect((await owner.expect('getSummary', 200, { params })).json).toEqual({ frequency: 'off', recipients: [] })
  const nobody = await owner.expect('updateSummary', 400, { params, body: { frequency: 'daily' } })
  expect(nobody.json['error']).toMatchObject({ code: 'INVALID_FIELD', param: '/recipients' })
  const body = { frequency: 'weekly', recipients: ['a@example.com', 'a@example.com'] }
  await owner.expect('updateSummary', 200, { params, body })
  expect((await owner.expect('updateSummary', 200, { params, body: { frequency: 'daily' } })).json).toEqual({
    frequency: 'daily',
    recipients: ['a@example.com'],
  })
  const operator = await ManagementClient.ofAdmin(plain)
  const { json } = await operator.expect('adminCreateEnterprise', 201, { body: { name: 'Plain' } })
  const refused = await operator.expect('updateSummary', 400, { params: { id: String(json['id']) }, body })
  expect(refused.json['error']).toMatchObject({ param: '/frequency' })
})
