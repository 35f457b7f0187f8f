import type { OperationName } from '../../shared/api/operations/index.ts'

/** A tool that is a management operation. Its schemas, its access and its description come from the operation. */
export interface OperationTool {
  readonly operation: OperationName
  readonly title: string
  /** Names of the path's parameters as arguments of the tool; `id` of an enterprise is always `enterprise_id`. */
  readonly params?: Readonly<Record<string, string>>
  /** The call makes something useless that was in use. */
  readonly isDestructive?: true
}

/** The management operations that are tools, by the name of the tool. */
export const OPERATION_TOOLS: Readonly<Record<string, OperationTool>> = {
  who_am_i: { operation: 'me', title: 'Your account and enterprises' },

  list_keys: { operation: 'listKeys', title: 'List your keys' },
  get_key: { operation: 'getKey', title: 'Show a key', params: { id: 'key_id' } },
  create_key: { operation: 'createKey', title: 'Make a key' },
  toggle_key: { operation: 'toggleKey', title: 'Turn a key off or on', params: { id: 'key_id' }, isDestructive: true },
  rotate_key: { operation: 'rotateKey', title: 'Rotate a key', params: { id: 'key_id' }, isDestructive: true },
  usage_statistics: { operation: 'usage', title: 'Your usage and spend' },
  search_request_log: { operation: 'listLogs', title: 'Search your requests' },
  get_request: { operation: 'getLog', title: 'Show a request', params: { id: 'request_id' } },

  get_enterprise: { operation: 'getEnterprise', title: 'Show an enterprise' },
  list_departments: { operation: 'listDepartments', title: 'List departments' },
  list_members: { operation: 'listMembers', title: 'List members' },
  get_wallet: { operation: 'getWallet', title: 'Show the wallet' },
  list_wallet_transactions: { operation: 'listTransactions', title: 'List movements of the wallet' },
  list_enterprise_keys: { operation: 'listEnterpriseKeys', title: 'List keys of an enterprise' },
  get_enterprise_key: {
    operation: 'getEnterpriseKey',
    title: 'Show a key of an enterprise',
    params: { keyId: 'key_id' },
  },
  create_enterprise_key: { operation: 'createEnterpriseKey', title: 'Make a key of an enterprise' },
  toggle_enterprise_key: {
    operation: 'toggleEnterpriseKey',
    title: 'Turn a key of an enterprise off or on',
    params: { keyId: 'key_id' },
    isDestructive: true,
  },
  rotate_enterprise_key: {
    operation: 'rotateEnterpriseKey',
    title: 'Rotate a key of an enterprise',
    params: { keyId: 'key_id' },
    isDestructive: true,
  },
  enterprise_usage_statistics: { operation: 'enterpriseUsage', title: 'Usage and spend of an enterprise' },
  search_enterprise_request_log: { operation: 'enterpriseLogs', title: 'Search requests of an enterprise' },
  get_enterprise_request: {
    operation: 'getEnterpriseLog',
    title: 'Show a request of an enterprise',
    params: { logId: 'request_id' },
  },

  platform_dashboard: { operation: 'adminDashboard', title: 'The platform at a glance' },
  platform_usage_statistics: { operation: 'adminUsage', title: 'Usage and spend of everyone' },
  platform_relay_statistics: { operation: 'adminRelayStats', title: 'Performance of the gateway' },
  search_platform_request_log: { operation: 'adminListLogs', title: 'Search requests of everyone' },
  get_platform_request: {
    operation: 'adminGetLog',
    title: 'Show a request with its attempts',
    params: { id: 'request_id' },
  },
  list_enterprises: { operation: 'adminListEnterprises', title: 'List enterprises' },
  list_users: { operation: 'adminListUsers', title: 'List users' },
  list_catalogue: { operation: 'adminListModels', title: 'List models with upstreams and prices' },
}
