import type { EnterpriseActions } from '../../client/index.ts'
import type { Membership } from './session.ts'

const OWNERS = ['owner'] as const
const OFFICERS = ['owner', 'admin', 'finance'] as const
const ADMINS = ['owner', 'admin'] as const
const EVERY_MEMBER = ['owner', 'admin', 'finance', 'employee'] as const

/** The gateway's own table: another one does not compile. The console hides by it; the gateway decides. */
const ACTIONS: EnterpriseActions = {
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
  'wallet.topup': ['owner', 'finance'],
  'usage.read': OFFICERS,
  'logs.read': ADMINS,
  'log.read_bodies': OWNERS,
  'log.erase_bodies': OWNERS,
  'audit.read': ADMINS,
  'alerts.read': OFFICERS,
  'alerts.manage': ADMINS,
}

export type Action = keyof EnterpriseActions
export type Role = Membership['role']

export function mayDo(role: Role, action: Action): boolean {
  return (ACTIONS[action] as readonly Role[]).includes(role)
}
