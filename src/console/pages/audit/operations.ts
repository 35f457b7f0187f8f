import type { Scope } from '../../shell/scope.ts'
import type words from '../../words/en/audit.json'

type Named = keyof (typeof words)['operations']

/** The changes of an enterprise. A name that is in no list here is shown as it is. */
const OF_ENTERPRISES: readonly Named[] = [
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
  'acceptInvitation',
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
  'receivePayment',
  'adminAdjustWallet',
  'createAlert',
  'updateAlert',
  'deleteAlert',
  'rotateAlertSecret',
  'updateSummary',
  'getEnterpriseLog',
  'exportEnterpriseLogs',
  'eraseEnterpriseBodies',
  'eraseAllEnterpriseBodies',
]

/** The changes that only admins of the platform may make, and what of the log they looked into. */
export const OF_PLATFORM_ADMINS: readonly Named[] = [
  'adminCreateUpstream',
  'adminUpdateUpstream',
  'adminDeleteUpstream',
  'adminCreateUpstreamKey',
  'adminUpdateUpstreamKey',
  'adminDeleteUpstreamKey',
  'adminReplaceModels',
  'adminUpdateModel',
  'adminDeleteModel',
  'adminPutModelGroup',
  'adminDeleteModelGroup',
  'adminCreateToolServer',
  'adminUpdateToolServer',
  'adminDeleteToolServer',
  'adminDecideServerTools',
  'adminCreateEnterprise',
  'adminUpdateEnterprise',
  'adminDeleteEnterprise',
  'adminAdjustWallet',
  'adminCreateUser',
  'adminUpdateUser',
  'adminDeleteUser',
  'adminResetTotp',
  'adminCreateAlert',
  'adminUpdateAlert',
  'adminDeleteAlert',
  'adminRotateAlertSecret',
  'adminGetLog',
  'adminExportLogs',
  'adminEraseBodies',
  'adminRetryDeadLetter',
  'adminDiscardDeadLetter',
]

/** Changes that people make in their own accounts, keys and requests. */
const OF_USERS: readonly Named[] = [
  'register',
  'oidcCallback',
  'logout',
  'endSession',
  'changePassword',
  'forgotPassword',
  'resetPassword',
  'changeEmail',
  'verifyEmail',
  'enrolTotp',
  'confirmTotp',
  'renewRecoveryCodes',
  'disableTotp',
  'createKey',
  'updateKey',
  'deleteKey',
  'toggleKey',
  'rotateKey',
  'getLog',
  'exportLogs',
  'eraseBodies',
  'eraseAllBodies',
  'finishToolConnection',
  'endToolConnection',
]

const ALL: readonly Named[] = [...new Set([...OF_PLATFORM_ADMINS, ...OF_ENTERPRISES, ...OF_USERS])]

/** The operations that the log of a scope can have. @param isOfAll on the platform: also those of others than its admins */
export function operationsIn(scope: Scope, isOfAll: boolean): readonly Named[] {
  if (scope.kind !== 'platform') return OF_ENTERPRISES
  return isOfAll ? ALL : OF_PLATFORM_ADMINS
}

/** The name under which the words know an operation; undefined: they do not. */
export function named(operation: string): Named | undefined {
  return ALL.find((one) => one === operation)
}
