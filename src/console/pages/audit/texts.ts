import { useRead } from '../../api/queries.ts'
import { enterpriseIdOf, useEnterprise } from '../../parts/enterprise.ts'
import { useHolderNames } from '../../parts/holder-names.ts'
import type { Scope } from '../../shell/scope.ts'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type words from '../../words/en/audit.json'
import type { AuditEntry } from './audit-calls.ts'

type Named = keyof (typeof words)['operations']

/** The changes of an enterprise. A name that is not here is shown as it is. */
export const OPERATIONS: readonly Named[] = [
  'invite',
  'resendInvitation',
  'cancelInvitation',
  'updateMember',
  'removeMember',
  'leaveEnterprise',
  'askToJoin',
  'approveJoinRequest',
  'rejectJoinRequest',
  'withdrawJoinRequest',
  'createDepartment',
  'updateDepartment',
  'deleteDepartment',
  'createEnterpriseKey',
  'updateEnterpriseKey',
  'deleteEnterpriseKey',
  'toggleEnterpriseKey',
  'rotateEnterpriseKey',
  'updateEnterprise',
  'adminUpdateEnterprise',
  'deleteEnterprise',
  'topUpWallet',
  'adminAdjustWallet',
  'createAlert',
  'updateAlert',
  'deleteAlert',
  'rotateAlertSecret',
  'updateSummary',
  'getEnterpriseLog',
  'eraseEnterpriseBodies',
  'eraseAllEnterpriseBodies',
]

interface AuditTexts {
  readonly whatOf: (operation: string) => string
  readonly whoOf: (entry: AuditEntry) => string | null
  readonly targetOf: (entry: AuditEntry) => string | null
}

const MAX_MEMBERS = 100

/** Names in place of ids, where they are known. */
export function useAuditTexts(scope: Scope): AuditTexts {
  const t = useWords('audit')
  const common = useWords('common')
  const account = useAccount()
  const enterprise = useEnterprise(scope).data
  const names = useHolderNames(scope)
  const params = { id: enterpriseIdOf(scope) }
  const members = useRead('listMembers', { params, query: { limit: MAX_MEMBERS } }).data?.data
  return {
    whatOf: (operation) => {
      const named = OPERATIONS.find((one) => one === operation)
      return named === undefined ? operation : t(`operations.${named}`)
    },
    whoOf: ({ user_id: id, role }) => {
      if (id === null) return null
      const name = id === account.id ? account.name : members?.find(({ user }) => user.id === id)?.user.name
      if (name !== undefined) return name
      const known = (['owner', 'admin', 'finance', 'employee'] as const).find((one) => one === role)
      return known === undefined ? id : `${common(`roles.${known}`)} (${id})`
    },
    targetOf: ({ target_id: id }) => {
      if (id === null) return null
      return (enterprise?.id === id ? enterprise.name : null) ?? names.member(names.department(id)) ?? id
    },
  }
}
