import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CAPTURE_ALL, CaptureWorld } from '../../support/capture-world.ts'
import type { Asked, CapturingTenant, ShownBodies } from '../../support/capture-world.ts'
import { itLater } from '../../support/dose.ts'
import { eventually } from '../../support/eventually.ts'
import type { ManagementAnswer, ManagementClient } from '../../support/management-client.ts'

let world: CaptureWorld
let database: pg.Client

beforeAll(async () => {
  world = await CaptureWorld.start()
  database = new pg.Client({ connectionString: world.gateway.databaseUrl ?? '' })
  await database.connect()
}, 120_000)

afterAll(async () => {
  await database.end()
  await world.stop()
})

const WITH_BODIES = { bodies: 'true' }
const isWhole = ({ request, answer }: ShownBodies): boolean => request !== null && answer !== null
const errorOf = ({ json }: ManagementAnswer): { code: string; message: string; param: string | null } =>
  json['error'] as { code: string; message: string; param: string | null }

async function capturedRequest(tenant: CapturingTenant, content = 'hi', body: object = {}): Promise<Asked> {
  const asked = await world.chat(await world.newKey(tenant, body), content)
  await world.bodiesOf(tenant, asked, isWhole)
  return asked
}

interface AuditRow {
  readonly user_id: string
  readonly operation: string
  readonly enterprise_id: string | null
  readonly target_id: string | null
  readonly sent: object | null
  readonly changes: object[] | null
  readonly outcome: string
}

async function auditOf(answer: ManagementAnswer): Promise<AuditRow[]> {
  const { json } = await world.admin.expect('adminAudit', 200, { query: { limit: '100' } })
  const id = answer.headers.get('x-request-id')
  return (json['data'] as Array<AuditRow & { request_id: string }>).filter((row) => row.request_id === id)
}

async function countOf(sql: string, values: unknown[] = []): Promise<number> {
  const { rows } = await database.query<{ count: string }>(sql, values)
  return Number(rows[0]?.count)
}

/** The rows that are stored of a tenant. */
const rowsOf = async (tenant: string): Promise<number[]> =>
  Promise.all(
    ['captures', 'captured_bodies'].map((table) =>
      countOf(`SELECT count(*) FROM ${table} WHERE key_id IN (SELECT id FROM capture_keys WHERE tenant = $1)`, [
        tenant,
      ]),
    ),
  )

describe('who may look', () => {
  itLater('owners alone; other roles that read the log see that there are bodies', async () => {
    const tenant = await world.newTenant()
    const { id: logId } = await capturedRequest(tenant)
    const params = { id: tenant.id, logId }
    const { client: colleague } = await world.newMember(tenant, 'admin')
    const { json } = await colleague.expect('getEnterpriseLog', 200, { params })
    expect([json['captured'], json['bodies']]).toEqual([true, undefined])
    for (const name of ['getEnterpriseLog', 'exportEnterpriseLogs'] as const) {
      const refused = await colleague.expect(name, 403, { params, query: WITH_BODIES })
      expect(errorOf(refused).code).toBe('ROLE_DENIED')
      expect(await auditOf(refused)).toMatchObject([{ operation: name, outcome: 'refused', enterprise_id: tenant.id }])
      expect((await colleague.expect(name, 200, { params })).text).not.toContain('messages')
    }
    await colleague.expect('eraseEnterpriseBodies', 403, { params })
    await colleague.expect('eraseAllEnterpriseBodies', 403, { params })
    const { owner: stranger } = await world.newTenant()
    for (const name of ['getEnterpriseLog', 'exportEnterpriseLogs', 'eraseEnterpriseBodies'] as const) {
      await stranger.expect(name, 404, { params, ...(name === 'eraseEnterpriseBodies' ? {} : { query: WITH_BODIES }) })
    }
    // An id of another enterprise within the own one.
    const own = await world.newTenant()
    await own.owner.expect('getEnterpriseLog', 404, { params: { id: own.id, logId }, query: WITH_BODIES })
    await own.owner.expect('eraseEnterpriseBodies', 404, { params: { id: own.id, logId } })
    await world.bodiesOf(tenant, { id: logId }, isWhole)
  })

  it('no member who may not read the log, and the refused look leaves a row', async () => {
    const tenant = await world.newTenant()
    const { client: employee } = await world.newMember(tenant, 'employee')
    const params = { id: tenant.id, logId: 'request-of-others' }
    for (const name of ['getEnterpriseLog', 'exportEnterpriseLogs'] as const) {
      const refused = await employee.expect(name, 403, { params, query: WITH_BODIES })
      expect(await auditOf(refused)).toMatchObject([{ operation: name, outcome: 'refused', enterprise_id: tenant.id }])
      expect(await auditOf(await employee.expect(name, 403, { params }))).toEqual([])
    }
  })

  it('a user at requests of own keys, and not of a key that an enterprise issued', async () => {
    const tenant = await world.newTenant()
    const member = await world.newMember(tenant, 'employee')
    const issued = await capturedRequest(tenant, 'issued', { member_id: member.memberId })
    const made = await member.client.expect('createKey', 201, { body: { name: 'own', capture: CAPTURE_ALL } })
    const own = await world.chat(String(made.json['key']), 'own')
    const shown = await eventually(async () => {
      const { json } = await member.client.expect('getLog', 200, { params: { id: own.id }, query: WITH_BODIES })
      expect(json['bodies']).toMatchObject({ request: { text: own.sent }, answer: { text: own.text } })
      return json
    })
    expect(shown['captured']).toBe(true)
    const { json } = await member.client.expect('getLog', 200, { params: { id: issued.id } })
    expect(json['captured']).toBe(true)
    const refused = await member.client.expect('getLog', 403, { params: { id: issued.id }, query: WITH_BODIES })
    expect(errorOf(refused).message).toContain('log.read_bodies')
    await member.client.expect('eraseBodies', 403, { params: { id: issued.id } })
    const file = await member.client.expect('exportLogs', 200, { query: { ...WITH_BODIES, format: 'ndjson' } })
    const rows = file.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(rows.map((row) => [row['id'], row['captured'], row['request_body']])).toEqual(
      expect.arrayContaining([
        [own.id, true, own.sent],
        [issued.id, true, null],
      ]),
    )
    await member.client.expect('eraseBodies', 204, { params: { id: own.id } })
    expect((await member.client.expect('getLog', 200, { params: { id: own.id } })).json['captured']).toBe(false)
  })

  itLater('admins of the platform, and each look leaves a row of who looked at whose', async () => {
    const tenant = await world.newTenant()
    const { id } = await capturedRequest(tenant, 'a canary')
    const looks = [
      await world.admin.expect('adminGetLog', 200, { params: { id }, query: WITH_BODIES }),
      await tenant.owner.expect('getEnterpriseLog', 200, { params: { id: tenant.id, logId: id }, query: WITH_BODIES }),
    ]
    for (const look of looks) {
      expect(look.text).toContain('a canary')
      const rows = await auditOf(look)
      expect(rows).toMatchObject([
        { enterprise_id: tenant.id, target_id: id, outcome: 'done', sent: { bodies: true }, changes: null },
      ])
      expect(JSON.stringify(rows)).not.toContain('canary')
    }
    const file = await tenant.owner.expect('exportEnterpriseLogs', 200, {
      params: { id: tenant.id },
      query: { ...WITH_BODIES, model: 'chat-model' },
    })
    expect(await auditOf(file)).toMatchObject([
      { operation: 'exportEnterpriseLogs', enterprise_id: tenant.id, sent: { bodies: true, model: 'chat-model' } },
    ])
    const plain = await tenant.owner.expect('getEnterpriseLog', 200, { params: { id: tenant.id, logId: id } })
    expect(await auditOf(plain)).toEqual([])
  })

  itLater(
    'no admin of the platform where capture.platform_admins is false',
    async () => {
      const other = await CaptureWorld.start({ config: { capture: { platform_admins: false } } })
      try {
        const tenant = await other.newTenant()
        const asked = await other.chat(await other.newKey(tenant))
        await other.bodiesOf(tenant, asked, isWhole)
        const params = { id: tenant.id, logId: asked.id }
        const refused = await other.admin.expect('adminGetLog', 403, { params: { id: asked.id }, query: WITH_BODIES })
        expect(errorOf(refused).message).toContain('capture.platform_admins')
        await other.admin.expect('adminExportLogs', 403, { query: WITH_BODIES })
        await other.admin.expect('getEnterpriseLog', 404, { params, query: WITH_BODIES })
        expect((await other.admin.expect('getEnterpriseLog', 200, { params })).json['captured']).toBe(true)
      } finally {
        await other.stop()
      }
    },
    60_000,
  )
})

it('exports bodies beside their rows, and nothing that a spreadsheet would run', async () => {
  const tenant = await world.newTenant()
  const asked = await capturedRequest(tenant, '=1+1', { capture: { requests: true, answers: true } })
  const params = { id: tenant.id }
  const file = async (format: string): Promise<string> =>
    (await tenant.owner.expect('exportEnterpriseLogs', 200, { params, query: { ...WITH_BODIES, format } })).text
  expect(JSON.parse(await file('ndjson'))).toMatchObject({
    id: asked.id,
    captured: true,
    request_body: asked.sent,
    answer_body: asked.text,
  })
  const [head = '', row = ''] = (await file('csv')).split('\n')
  expect(head.endsWith(',captured,request_body,answer_body')).toBe(true)
  expect(row).toContain(`"${asked.sent.replaceAll('"', '""')}"`)
})

describe('at rest', () => {
  itLater('has a body once for each tenant and content, and counts who uses it', async () => {
    const [tenant, other] = [await world.newTenant(), await world.newTenant()]
    const first = await capturedRequest(tenant, 'the same')
    const second = await capturedRequest(tenant, 'the same')
    await capturedRequest(other, 'the same')
    const shared = `SELECT count(*) FROM captured_bodies WHERE uses = $2
      AND key_id = (SELECT id FROM capture_keys WHERE tenant = $1)`
    expect(await rowsOf(`e:${tenant.id}`)).toEqual([4, 3])
    expect(await countOf(shared, [`e:${tenant.id}`, 2])).toBe(1)
    const digests = await database.query('SELECT digest FROM captured_bodies GROUP BY digest HAVING count(*) > 1')
    expect(digests.rows).toEqual([])
    await tenant.owner.expect('eraseEnterpriseBodies', 204, { params: { id: tenant.id, logId: first.id } })
    expect(await rowsOf(`e:${tenant.id}`)).toEqual([2, 2])
    expect((await world.bodiesOf(tenant, second, isWhole)).request?.text).toBe(second.sent)
    await tenant.owner.expect('eraseEnterpriseBodies', 204, { params: { id: tenant.id, logId: second.id } })
    expect(await rowsOf(`e:${tenant.id}`)).toEqual([0, 0])
  })

  itLater('shows a body as unreadable whose data key another secret sealed, and keeps new ones', async () => {
    const tenant = await world.newTenant()
    const { id: logId } = await capturedRequest(tenant)
    await database.query(`UPDATE capture_keys SET sealed = sha256(sealed) || sealed WHERE tenant = $1`, [
      `e:${tenant.id}`,
    ])
    const sent = { params: { id: tenant.id, logId }, query: WITH_BODIES }
    const { json } = await tenant.owner.expect('getEnterpriseLog', 200, sent)
    expect(json).toMatchObject({ captured: true, bodies: { request: { text: null }, answer: { text: null } } })
    await capturedRequest(tenant)
  })

  itLater('has nothing that is past its days, or past the log', async () => {
    const tenant = await world.newTenant({ ...CAPTURE_ALL, retain_days: 3 })
    const long = await world.newTenant({ ...CAPTURE_ALL, retain_days: 365 })
    const asked = await capturedRequest(tenant)
    const kept = await world.bodiesOf(long, await capturedRequest(long), isWhole)
    const { answer } = await world.bodiesOf(tenant, asked, isWhole)
    const daysUntil = (time: string): number => (Date.parse(time) - Date.now()) / 86_400_000
    expect(daysUntil(answer?.expires_at ?? '')).toBeCloseTo(3, 1)
    // log.retention_days is 90.
    expect(daysUntil(kept.answer?.expires_at ?? '')).toBeCloseTo(90, 1)
    await database.query(
      `UPDATE captures SET expires_at = now() - interval '1 second'
        WHERE key_id = (SELECT id FROM capture_keys WHERE tenant = $1)`,
      [`e:${tenant.id}`],
    )
    const params = { id: tenant.id, logId: asked.id }
    const { json } = await tenant.owner.expect('getEnterpriseLog', 200, { params, query: WITH_BODIES })
    expect(json).toMatchObject({ captured: false, bodies: null })
    // An erasure elsewhere wakes the keeper, which works every minute otherwise.
    await (await world.newUser()).client.expect('eraseAllBodies', 204)
    await eventually(async () => {
      expect(await rowsOf(`e:${tenant.id}`)).toEqual([0, 0])
    })
    await world.bodiesOf(long, await capturedRequest(long), isWhole)
  })
})

describe('erasure of a tenant', () => {
  const isGone = async (reader: ManagementClient, id: string, tenant: string): Promise<void> => {
    const { json } = await reader.expect('adminGetLog', 200, { params: { id }, query: WITH_BODIES })
    expect(json).toMatchObject({ captured: false, bodies: null })
    await eventually(async () => {
      expect(await rowsOf(tenant)).toEqual([0, 0])
    })
  }

  itLater('takes all bodies of an enterprise at once, and those of no other', async () => {
    const [tenant, other] = [await world.newTenant(), await world.newTenant()]
    const [asked, theirs] = [await capturedRequest(tenant), await capturedRequest(other)]
    const erased = await tenant.owner.expect('eraseAllEnterpriseBodies', 204, { params: { id: tenant.id } })
    await isGone(world.admin, asked.id, `e:${tenant.id}`)
    expect(await auditOf(erased)).toMatchObject([{ operation: 'eraseAllEnterpriseBodies', enterprise_id: tenant.id }])
    await world.bodiesOf(other, theirs, isWhole)
    await capturedRequest(tenant)
  })

  it('happens with the deletion of an enterprise', async () => {
    const tenant = await world.newTenant()
    const asked = await capturedRequest(tenant)
    await tenant.owner.expect('deleteEnterprise', 204, { params: { id: tenant.id } })
    await isGone(world.admin, asked.id, `e:${tenant.id}`)
  })

  itLater('happens with the deletion of a user', async () => {
    const { id, client } = await world.newUser()
    const made = await client.expect('createKey', 201, { body: { name: 'own', capture: CAPTURE_ALL } })
    const asked = await world.chat(String(made.json['key']))
    await eventually(async () => {
      expect((await client.expect('getLog', 200, { params: { id: asked.id } })).json['captured']).toBe(true)
    })
    await world.admin.expect('adminDeleteUser', 204, { params: { id } })
    await isGone(world.admin, asked.id, `u:${id}`)
  })
})

describe('the setting', () => {
  itLater('is shown with its defaults, and is replaced as a whole', async () => {
    const tenant = await world.newTenant({ requests: true, redact: ['x+'] })
    const params = { id: tenant.id }
    const shown = async (): Promise<unknown> =>
      (await tenant.owner.expect('getEnterprise', 200, { params })).json['capture']
    expect(await shown()).toEqual({ requests: true, answers: false, sample: 1, redact: ['x+'], retain_days: 30 })
    await tenant.owner.expect('updateEnterprise', 200, { params, body: { capture: { answers: true, sample: 0.1 } } })
    expect(await shown()).toEqual({ requests: false, answers: true, sample: 0.1, redact: [], retain_days: 30 })
    await tenant.owner.expect('updateEnterprise', 200, { params, body: { name: 'Other' } })
    expect(await shown()).not.toBeNull()
    await world.admin.expect('adminUpdateEnterprise', 200, { params, body: { capture: null } })
    expect(await shown()).toBeNull()
    const made = await tenant.owner.expect('createEnterpriseKey', 201, {
      params,
      body: { name: 'k', capture: { requests: true, retain_days: 7 } },
    })
    expect(made.json['capture']).toMatchObject({ requests: true, retain_days: 7 })
    const keyParams = { ...params, keyId: String(made.json['id']) }
    await tenant.owner.expect('updateEnterpriseKey', 200, { params: keyParams, body: { capture: null } })
    expect((await tenant.owner.expect('getEnterpriseKey', 200, { params: keyParams })).json['capture']).toBeNull()
  })

  it.each([
    [{ sample: 1.5 }, '/capture/sample', 'sample'],
    [{ retain_days: 0 }, '/capture/retain_days', 'retain_days'],
    [{ requests: 'yes' }, '/capture/requests', 'requests'],
    [{ bodies: true }, '/capture/bodies', 'bodies'],
    [{ redact: Array<string>(17).fill('x') }, '/capture/redact', 'redact'],
    [{ redact: ['ok', 'x'.repeat(201)] }, '/capture/redact/1', 'redact'],
    [{ redact: ['ok', '(?=x)y'] }, '/capture/redact/1', 'RE2'],
    [{ redact: ['a*'] }, '/capture/redact/0', 'empty text'],
    [{ redact: ['(((a{30}){30}){30})'] }, '/capture/redact/0', 'redact[0]'],
  ])('%j is refused, and the error names the field', async (capture, param, says) => {
    const { client } = await world.newUser()
    const refused = await client.expect('createKey', 400, { body: { name: 'k', capture } })
    expect(errorOf(refused)).toMatchObject({ code: 'INVALID_FIELD', param })
    expect(errorOf(refused).message).toContain(says)
  })

  itLater(
    'has no effect and cannot be turned on where capture.allowed is false',
    async () => {
      const other = await CaptureWorld.start({ config: { capture: { allowed: false } } })
      try {
        const { owner, id } = await other.newTenant(null)
        const refused = await owner.expect('updateEnterprise', 400, { params: { id }, body: { capture: CAPTURE_ALL } })
        expect(errorOf(refused)).toMatchObject({ code: 'INVALID_FIELD', param: '/capture' })
        expect(errorOf(refused).message).toContain('capture.allowed')
        await owner.expect('updateEnterprise', 200, { params: { id }, body: { capture: { requests: false } } })
        // As a gateway with another configuration has stored it.
        const client = new pg.Client({ connectionString: other.gateway.databaseUrl ?? '' })
        await client.connect()
        await client.query(
          `UPDATE enterprises SET capture = '{"requests":true,"answers":true,"sample":1,"redact":[],"retainDays":1}'`,
        )
        await client.end()
        const { id: logId } = await other.chat(await other.newKey({ owner, id }))
        await other.gateway.logRow(logId)
        expect((await owner.expect('getEnterpriseLog', 200, { params: { id, logId } })).json['captured']).toBe(false)
        expect(await other.counter('sluice_captures_')).toBe(0)
      } finally {
        await other.stop()
      }
    },
    60_000,
  )
})
