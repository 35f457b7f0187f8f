import type { ENTERPRISE_ACTIONS } from '../shared/api/roles.ts'

/** The table of actions in an enterprise, each with the roles that may do it. A copy of this type must have the same rows. */
export type EnterpriseActions = typeof ENTERPRISE_ACTIONS
