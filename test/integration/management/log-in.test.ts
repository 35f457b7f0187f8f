import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import type { ManagementAnswer } from '../../support/management-client.ts'

const PASSWORD = 'correct horse battery'
const ADA = '+12025559101'
const BOB = '+12025559102'
const CAROL = '+12025559103'
const COMMON = ['Password123', 'qwertyuiop', '1234567890', '1Q2W3E4R5T']

let gateway: TestGateway
let admin: ManagementClient

beforeAll(async () => {
  gateway = await startGateway({
    config: { server: { trusted_proxies: ['127.0.0.1'] }, auth: { registration: 'open' } },
    env: { SLUICE_ADMIN_PHONE: '+442079460000' },
  })
  admin = await ManagementClient.ofAdmin(gateway)
  for (const phone of [ADA, BOB, CAROL]) {
    await admin.expect('adminCreateUser', 201, { body: { phone, name: 'User', password: PASSWORD } })
  }
})

afterAll(async () => {
  await gateway.stop()
})

const login = (phone: string, password: string, address: string): Promise<ManagementAnswer> =>
  admin.call('login', { body: { phone, password }, token: null, headers: { 'x-forwarded-for': address } })

it('slows down guesses at one phone from one address, and nobody else', async () => {
  const guesses: ManagementAnswer[] = []
  for (let guess = 0; guess < 20; guess++) guesses.push(await login(ADA, `a guess ${guess}`, '198.51.100.1'))
  const statuses = guesses.map(({ status }) => status)
  expect(statuses.slice(0, 3)).toEqual([401, 401, 401])
  expect(statuses).toContain(429)
  expect(Number(guesses.find(({ status }) => status === 429)?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)

  // The account is not locked for its owner, and the others of that house are not for its neighbour.
  expect((await login(ADA, PASSWORD, '198.51.100.2')).status).toBe(200)
  expect((await login(BOB, PASSWORD, '198.51.100.1')).status).toBe(200)
  for (let stranger = 0; stranger < 15; stranger++) {
    expect((await login(`+120255591${50 + stranger}`, 'a guess', '198.51.100.3')).status).toBe(401)
  }
  expect((await login(BOB, PASSWORD, '198.51.100.3')).status).toBe(200)
})

it('gives the first admin the phone that it is told', async () => {
  const { json } = await admin.expect('me', 200)
  expect(json).toMatchObject({ phone: '+442079460000', role: 'admin' })
})

it.each([...COMMON, '+1 202 555 9103', '12025559103'])('takes %s as a password nowhere', async (password) => {
  const refused = async (answer: Promise<ManagementAnswer>, param: string): Promise<void> => {
    const { status, json } = await answer
    expect(status).toBe(400)
    expect(json['error']).toMatchObject({ code: 'INVALID_FIELD', param })
  }
  await refused(admin.call('adminCreateUser', { body: { phone: CAROL, name: 'New', password } }), '/password')
  await refused(admin.call('register', { body: { phone: CAROL, name: 'New', password }, token: null }), '/password')

  const { json } = await admin.expect('adminListUsers', 200, { query: { search: CAROL.slice(1) } })
  const [{ id } = { id: '' }] = json['data'] as Array<{ id: string }>
  await refused(admin.call('adminUpdateUser', { params: { id }, body: { password } }), '/password')
  const user = new ManagementClient(gateway.url)
  await user.login(CAROL, PASSWORD)
  const change = { old_password: PASSWORD, new_password: password }
  await refused(user.call('changePassword', { body: change }), '/new_password')
})
