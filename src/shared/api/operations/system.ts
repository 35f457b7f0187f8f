import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { ok, operation, Time } from '../operation.ts'

const Count = Type.Integer({ minimum: 0 })

export const Setting = Type.Object({
  name: Type.String({ description: 'As the configuration file names it.', examples: ['log.level'] }),
  value: Type.Unsafe<unknown>({
    description:
      'A text, a number, true, false or a list of texts. null: it is not set, it is a secret, or it is a list of entries.',
  }),
  is_secret: Type.Boolean({ description: 'Its value is never shown.' }),
  is_set: Type.Boolean(),
  entries: nullable({ ...Count, description: 'Of a list of entries: how many there are. null for others.' }),
  stored_entries: nullable({
    ...Count,
    description:
      'Of a list that admins add to while the gateway runs: how many entries they have stored. null for others.',
  }),
  source: Type.Enum(['default', 'file', 'environment', 'stored'], {
    description: 'Where the value comes from. stored: admins have stored all of its entries.',
  }),
  variable: nullable(Type.String({ description: 'The variable of the environment that sets it.' })),
})

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
  config_file: nullable(Type.String({ description: 'The configuration file; null: there is none.' })),
  settings: Type.Array(Setting, {
    description: 'All settings of this installation, in the order of the documentation.',
  }),
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
