import type { TestGateway } from '../support/gateway.ts'
import type { Shot } from './shot.ts'
import { clientOf, firstAdmin, newPerson } from './world.ts'

/** The data that the pictures of an enterprise's own pages need beside its keys. */
export interface FilledEnterprise {
  readonly id: string
  /** Without anything. */
  readonly emptyId: string
  readonly memberId: string
  readonly departmentId: string
  readonly alertId: string
}

const PEOPLE = [
  ['Ada Lovelace', 'admin'],
  ['Charles Babbage', 'finance'],
  ['Mary Somerville', 'employee'],
  ['Augustus De Morgan', 'employee'],
] as const
const MICRO = 1_000_000

/** Fills an enterprise that has two departments and some keys. */
export async function fillEnterprisePages(gateway: TestGateway, id: string): Promise<FilledEnterprise> {
  const admin = await clientOf(gateway, firstAdmin(gateway))
  const params = { id }
  const { id: emptyId } = await admin.call('adminCreateEnterprise', {
    body: { name: 'Difference Engines', owner_phone: firstAdmin(gateway).phone },
  })
  const { data: departments } = await admin.call('listDepartments', { params })
  const research = departments.find(({ name }) => name === 'Research')?.id ?? ''
  await admin.call('updateEnterprise', { params, body: { monthly_budget: 1_500 * MICRO } })
  await admin.call('adminUpdateEnterprise', {
    params,
    body: { platform_monthly_budget: 2_000 * MICRO, rpm: 6_000, is_prepaid: false },
  })
  let departmentId = ''
  for (const [name, budget] of [
    ['Vision', 200],
    ['Language', null],
  ] as const) {
    const body = { name, parent_id: research, monthly_budget: budget === null ? null : budget * MICRO }
    const made = await admin.call('createDepartment', { params, body })
    departmentId ||= made.id
  }
  await admin.call('createDepartment', {
    params,
    body: {
      name: 'Annotation',
      parent_id: departmentId,
      monthly_budget: 20_000,
      model_budgets: [{ models: ['sim-gpt'], monthly_budget: 10_000 }],
    },
  })
  for (const [at, [name, role]] of PEOPLE.entries()) {
    const person = await newPerson(gateway, name, `+1202555018${at}`)
    const department_id = at % 2 === 0 ? research : departmentId
    const { token } = await admin.call('invite', { params, body: { phone: person.phone, role, department_id } })
    await (await clientOf(gateway, person)).call('acceptInvitation', { body: { token } })
  }
  const { data: members } = await admin.call('listMembers', { params, query: { limit: 100 } })
  const memberId = members.find(({ user }) => user.name === 'Ada Lovelace')?.id ?? ''
  const off = members.find(({ user }) => user.name === 'Augustus De Morgan')?.id ?? ''
  await admin.call('updateMember', { params: { id, memberId: off }, body: { status: 'disabled' } })
  await admin.call('updateMember', { params: { id, memberId }, body: { monthly_budget: 50 * MICRO, rpm: 120 } })
  for (const name of ['Notebook', 'Editor']) {
    await admin.call('createEnterpriseKey', { params, body: { name, member_id: memberId } })
  }
  await admin.call('invite', {
    params,
    body: { email: 'hopper@example.com', role: 'employee', department_id: research },
  })
  for (const [at, [name, message]] of [
    ['Evelyn Granville', 'I work with Ada in the research department.'],
    ['Gladys West', null],
  ].entries()) {
    const asker = await newPerson(gateway, name ?? '', `+1202555019${at}`)
    const client = await clientOf(gateway, asker)
    await client.call('askToJoin', { params, body: message === null ? {} : { message: message ?? '' } })
  }
  const [budget] = [
    await admin.call('createAlert', {
      params,
      body: {
        kind: 'budget',
        channels: [{ webhook: 'https://hooks.example.com/sluice' }],
        quiet: { from: '22:00', to: '07:00' },
      },
    }),
    await admin.call('createAlert', {
      params,
      body: {
        kind: 'latency',
        name: 'Slow answers',
        threshold: 4_000,
        channels: [{ webhook: 'https://hooks.example.com/b' }],
      },
    }),
  ]
  return { id, emptyId, memberId, departmentId, alertId: budget.id }
}

/** The pictures, of an enterprise that is filled after they are listed. */
export function enterpriseShots(filled: () => FilledEnterprise): readonly Shot[] {
  const at = (path: string) => (): string => `/console/e/${filled().id}/${path}`
  const empty = (path: string) => (): string => `/console/e/${filled().emptyId}/${path}`
  return [
    { name: 'members', path: at('members') },
    { name: 'members-empty', path: empty('members') },
    { name: 'member', path: () => at(`members/${filled().memberId}`)() },
    { name: 'member-invite', path: at('members/new') },
    {
      name: 'member-remove',
      path: () => at(`members/${filled().memberId}`)(),
      act: async (page) => {
        await page.getByRole('button', { name: 'Remove' }).click()
        // On a phone, the panel is a dialog too.
        await page.getByRole('dialog').last().getByText('Notebook').waitFor()
      },
    },
    { name: 'departments', path: at('departments') },
    { name: 'departments-empty', path: empty('departments') },
    { name: 'department', path: () => at(`departments/${filled().departmentId}`)() },
    { name: 'department-new', path: at('departments/new') },
    {
      name: 'department-move',
      path: () => at(`departments/${filled().departmentId}`)(),
      act: async (page) => {
        await page.getByRole('button', { name: 'Move' }).click()
        await page.getByRole('dialog').getByText('Budgets that pay now').waitFor()
      },
    },
    { name: 'joins', path: at('joins') },
    { name: 'joins-empty', path: empty('joins') },
    {
      name: 'join-approve',
      path: at('joins'),
      act: async (page) => {
        await page.getByRole('button', { name: 'Approve Gladys West' }).click()
        await page.getByRole('dialog').waitFor()
      },
    },
    { name: 'alerts', path: at('alerts') },
    { name: 'alerts-empty', path: empty('alerts') },
    { name: 'alert', path: () => at(`alerts/${filled().alertId}`)() },
    { name: 'alert-new', path: at('alerts/new') },
    { name: 'deliveries', path: at('alerts?tab=deliveries') },
    { name: 'summary-mail', path: at('alerts?tab=summary'), onDesktopOnly: true },
    { name: 'audit', path: at('audit') },
    {
      name: 'audit-entry',
      path: at('audit?operation=updateMember'),
      act: async (page) => {
        await page.getByRole('row').getByRole('link').first().click()
        await page.getByRole('heading', { level: 2 }).waitFor()
      },
    },
    { name: 'settings', path: at('settings') },
    {
      name: 'settings-danger',
      path: at('settings'),
      act: async (page) => {
        await page.getByRole('button', { name: 'Delete the enterprise' }).click()
        await page
          .getByRole('dialog')
          .getByText(/requests? in the last 7 days/)
          .waitFor()
      },
    },
  ]
}

/** Those that are taken in Chinese, too. */
export const ENTERPRISE_IN_CHINESE = [
  'members',
  'member',
  'departments',
  'joins',
  'alerts',
  'alert',
  'audit',
  'settings',
]
