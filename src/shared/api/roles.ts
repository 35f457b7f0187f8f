export type PlatformRole = 'admin' | 'user'
export type EnterpriseRole = 'owner' | 'admin' | 'finance' | 'employee'

const OWNERS = ['owner'] as const
const EVERY_MEMBER = ['owner', 'admin', 'finance', 'employee'] as const
const ADMINS = ['owner', 'admin'] as const
const TREASURERS = ['owner', 'finance'] as const
const OFFICERS = ['owner', 'admin', 'finance'] as const

/** The actions in an enterprise, and the roles that may do them. Platform admins may do all of them in every enterprise. */
export const ENTERPRISE_ACTIONS = {
  'enterprise.read': EVERY_MEMBER,
  'enterprise.update': ADMINS,
  'enterprise.delete': OWNERS,
  'members.read': EVERY_MEMBER,
  'members.manage': ADMINS,
  'departments.read': EVERY_MEMBER,
  'departments.manage': ADMINS,
  'keys.read': OFFICERS,
  'keys.manage': ADMINS,
  'wallet.read': OFFICERS,
  'wallet.topup': TREASURERS,
  'usage.read': OFFICERS,
  'logs.read': ADMINS,
  'log.read_bodies': OWNERS,
  'log.erase_bodies': OWNERS,
  'audit.read': ADMINS,
  'alerts.read': OFFICERS,
  'alerts.manage': ADMINS,
} as const satisfies Record<string, readonly EnterpriseRole[]>

export type EnterpriseAction = keyof typeof ENTERPRISE_ACTIONS

export function mayDo(role: EnterpriseRole, action: EnterpriseAction): boolean {
  return (ENTERPRISE_ACTIONS[action] as readonly EnterpriseRole[]).includes(role)
}
