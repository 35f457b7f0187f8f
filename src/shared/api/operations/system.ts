import { Type } from 'typebox'
import { ok, operation, Time } from '../operation.ts'

export const System = Type.Object({
  version: Type.String({ description: 'Of the gateway.' }),
  node_version: Type.String({ description: 'Of Node.js.' }),
  started_at: { ...Time, description: 'When the process that answers started.' },
  currency: Type.String({ description: 'Of this installation. ISO 4217.' }),
  registration: Type.Enum(['closed', 'open'], { description: 'open: anybody may make an account.' }),
  tenant_topup: Type.Boolean({ description: 'Whether owners and finance may credit the wallet of their enterprise.' }),
  allow_unpriced: Type.Boolean({ description: 'Whether models without prices may be used where money is limited.' }),
  log_retention_days: Type.Integer({
    description: 'Days after which requests leave the request log; 0: never.',
    minimum: 0,
  }),
  capture_allowed: Type.Boolean({ description: 'Whether bodies of requests may be captured.' }),
})

export const SYSTEM = {
  adminGetSystem: operation({
    method: 'GET',
    path: '/v1/admin/system',
    tag: 'Operation',
    summary: 'The version of the gateway, and the settings that decide what people may do',
    access: 'platform-admin',
    answer: ok(System),
  }),
} as const
