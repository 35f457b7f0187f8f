import { generateApiKey } from '../../src/shared/core/api-key.ts'

// A database of new-api: the columns of its tables that the import meets, with rows of each kind.

type Value = string | number | boolean | null | Readonly<Record<string, unknown>>

/** Columns with their types in Postgres. */
const COLUMNS = {
  channels: {
    id: 'bigserial PRIMARY KEY',
    type: 'bigint DEFAULT 0',
    key: 'text NOT NULL',
    openai_organization: 'text',
    test_model: 'text',
    status: 'bigint DEFAULT 1',
    name: 'text',
    weight: 'bigint DEFAULT 0',
    created_time: 'bigint',
    base_url: "text DEFAULT ''",
    other: 'text',
    balance: 'numeric',
    models: 'text',
    group: "varchar(64) DEFAULT 'default'",
    used_quota: 'bigint DEFAULT 0',
    model_mapping: 'text',
    status_code_mapping: "varchar(1024) DEFAULT ''",
    priority: 'bigint DEFAULT 0',
    auto_ban: 'bigint DEFAULT 1',
    other_info: 'text',
    tag: 'text',
    setting: 'text',
    param_override: 'text',
    header_override: 'text',
    remark: 'varchar(255)',
    channel_info: 'json',
    settings: 'text',
  },
  tokens: {
    id: 'bigserial PRIMARY KEY',
    user_id: 'bigint',
    key: 'varchar(128)',
    status: 'bigint DEFAULT 1',
    name: 'text',
    created_time: 'bigint',
    accessed_time: 'bigint',
    expired_time: 'bigint DEFAULT -1',
    remain_quota: 'bigint DEFAULT 0',
    unlimited_quota: 'boolean',
    model_limits_enabled: 'boolean',
    model_limits: 'text',
    allow_ips: "text DEFAULT ''",
    used_quota: 'bigint DEFAULT 0',
    group: "text DEFAULT ''",
    deleted_at: 'timestamptz',
  },
  users: {
    id: 'bigserial PRIMARY KEY',
    username: 'text UNIQUE',
    password: 'text NOT NULL',
    display_name: 'text',
    role: 'bigint DEFAULT 1',
    status: 'bigint DEFAULT 1',
    email: 'text',
    quota: 'bigint DEFAULT 0',
    group: "varchar(64) DEFAULT 'default'",
    deleted_at: 'timestamptz',
  },
  options: { key: 'text PRIMARY KEY', value: 'text' },
  abilities: { group: 'varchar(64)', model: 'varchar(255)', channel_id: 'bigint', enabled: 'boolean' },
} as const

type TableName = keyof typeof COLUMNS
type Rows = Readonly<Record<TableName, ReadonlyArray<Readonly<Record<string, Value>>>>>

const SERVICE_ACCOUNT = `{
  "type": "service_account",
  "project_id": "my-project",
  "client_email": "gateway@my-project.iam.gserviceaccount.com",
  "private_key": "-----BEGIN PRIVATE KEY-----\\nabc\\n-----END PRIVATE KEY-----"
}`

/** A token whose value has the form of Sluice, by chance or because it came from there. */
export const KEPT_KEY = generateApiKey()

const QUOTA_OF_A_DOLLAR = 500_000
/** 2024-01-01, when new-api sent names of Azure deployments without dots. */
const OLD = 1_704_067_200
const NEW = 1_767_225_600

const token = (id: number, user: number, name: string, more: Readonly<Record<string, Value>> = {}) => ({
  id,
  user_id: user,
  key: `${String(id).padStart(2, '0')}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST`,
  status: 1,
  name,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: false,
  model_limits_enabled: false,
  ...more,
})

/** The rows; `origin` is where channels without an address of their own call. */
export function newApiRows(origin: string): Rows {
  const channel = (id: number, type: number, name: string, more: Readonly<Record<string, Value>>) => ({
    id,
    type,
    name,
    key: `key-of-${id}`,
    status: 1,
    weight: 0,
    created_time: NEW,
    base_url: origin,
    group: 'default,vip',
    priority: 10,
    auto_ban: 1,
    ...more,
  })
  return {
    channels: [
      channel(1, 1, '主渠道', {
        key: 'sk-first\nsk-second\nsk-third',
        models: 'gpt-4o,gpt-4o-mini,fast',
        model_mapping: '{\n  "fast": "quick", "quick": "gpt-4o-mini"\n}',
        channel_info: { is_multi_key: true, multi_key_size: 3, multi_key_status_list: { '1': 2 } },
        openai_organization: '',
      }),
      channel(2, 14, 'Claude of vip', {
        models: 'claude-sonnet-4-5',
        group: 'vip',
        header_override: '{"X-Team": "it\'s \\"ours\\"", "Authorization": "Bearer {api_key}"}',
        setting: '{"proxy":"socks5://10.0.0.1:1080","force_format":false,"system_prompt":"Be ${kind};"}',
        param_override: '{"temperature": 0.2}',
      }),
      channel(3, 1, 'backup', { key: 'sk-${backup}', models: 'gpt-4o,resilient', priority: 0, group: 'default' }),
      channel(4, 1, 'broken', { key: 'sk-broken', models: 'resilient', priority: 20 }),
      channel(5, 2, 'pictures', { models: 'mj_imagine' }),
      channel(6, 3, 'azure', { models: 'gpt-3.5-turbo', other: '2024-10-21', created_time: OLD }),
      channel(7, 33, 'aws', {
        key: 'AKIA1|secret1|us-east-1\nAKIA2|secret2|eu-west-1',
        models: 'claude-3-5-haiku-20241022',
        base_url: '',
      }),
      channel(8, 41, 'vertex', {
        key: SERVICE_ACCOUNT,
        models: 'gemini-2.5-pro,claude-opus-4-1,llama-4',
        other: '{"default": "us-central1", "claude-opus-4-1": "us-east5"}',
        base_url: '',
      }),
      channel(9, 43, 'off', { models: 'deepseek-chat', status: 2, base_url: '' }),
      channel(10, 4, 'local', { key: '', models: 'llama3.1' }),
      channel(11, 42, 'failed', { models: 'mistral-large-latest', status: 3, base_url: '' }),
      channel(12, 25, 'moon', { models: 'kimi-k2', base_url: '' }),
    ],
    tokens: [
      token(1, 2, 'laptop', { remain_quota: 12.34 * QUOTA_OF_A_DOLLAR }),
      token(2, 2, 'vip', {
        group: 'vip',
        unlimited_quota: true,
        model_limits_enabled: true,
        model_limits: 'claude-sonnet-4-5,gpt-4o,unknown',
      }),
      token(3, 2, 'old', { expired_time: OLD, unlimited_quota: true }),
      token(4, 1, 'office', {
        status: 2,
        unlimited_quota: true,
        allow_ips: '10.0.0.0/8\n192.168.1.7\nsomewhere',
        expired_time: 4_102_444_800,
      }),
      token(5, 2, 'gone', { deleted_at: '2026-01-01 00:00:00+00' }),
      token(6, 3, 'of bob', { unlimited_quota: true }),
      token(7, 2, 'kept', { key: KEPT_KEY.slice(3), remain_quota: QUOTA_OF_A_DOLLAR }),
      token(8, 2, 'spent', { status: 4 }),
    ],
    users: [
      {
        id: 1,
        username: 'root',
        password: '$2a$10$x',
        role: 100,
        status: 1,
        quota: 200 * QUOTA_OF_A_DOLLAR,
        group: 'vip',
      },
      {
        id: 2,
        username: 'alice',
        password: '$2a$10$x',
        email: 'alice@example.com',
        status: 1,
        quota: 100 * QUOTA_OF_A_DOLLAR,
      },
      { id: 3, username: 'bob', password: '$2a$10$x', status: 2, quota: 0, group: 'default' },
      { id: 4, username: 'carol', password: '$2a$10$x', quota: 0, deleted_at: '2026-01-01 00:00:00+00' },
    ].map((user) => ({ group: 'default', ...user })),
    options: Object.entries({
      QuotaPerUnit: '500000.000000',
      ModelRatio: '{"gpt-4o": 1.25, "gpt-4o-mini": 0.075, "fast": 0.075, "claude-sonnet-4-5": 1.5, "own-model": 7}',
      CompletionRatio: '{"gpt-4o": 4, "fast": 5}',
      CacheRatio: '{"gpt-4o": 0.5}',
      CreateCacheRatio: '{}',
      ModelPrice: '{"llama3.1": 0.01, "mj_imagine": 0.1}',
      GroupRatio: '{"default": 1, "vip": 0.5}',
      RetryTimes: '3',
      CheckSensitiveEnabled: 'false',
      SensitiveWords: 'test_sensitive',
      ModelRequestRateLimitEnabled: 'true',
      ModelRequestRateLimitCount: '60',
      SystemName: "Alice's API; -- really",
      Footer: '',
    }).map(([key, value]) => ({ key, value })),
    abilities: [{ group: 'default', model: 'gpt-4o', channel_id: 1, enabled: true }],
  }
}

type Dialect = 'postgres' | 'sqlite' | 'mysql'

/** The statements that make the database, in the form of a dump. */
export function newApiSql(rows: Rows, dialect: Dialect): string {
  const quote = dialect === 'postgres' ? '"' : '`'
  const begin = dialect === 'sqlite' ? 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n' : '-- a dump; of new-api\n'
  const tables = Object.entries(COLUMNS).map(([table, columns]) => {
    const defined = Object.entries(columns).map(
      ([name, type]) => `${quote}${name}${quote} ${dialect === 'postgres' ? type : plainType(type)}`,
    )
    const name = dialect === 'sqlite' ? table : `${quote}${table}${quote}`
    const inserts = rows[table as TableName].map((row) => {
      const values = Object.keys(columns).map((column) => literal(row[column] ?? null, dialect))
      return `INSERT INTO ${name} VALUES(${values.join(',')});`
    })
    const key = dialect === 'mysql' ? `,\n  KEY \`idx_${table}\` (\`${Object.keys(columns)[0] ?? ''}\`)` : ''
    const create = `CREATE TABLE ${quote}${table}${quote} (${defined.join(', ')}${key});`
    const comment = dialect === 'mysql' ? `/*!40000 ALTER TABLE \`${table}\` DISABLE KEYS */;\n` : ''
    return [create, comment + inserts.join('\n')].join('\n')
  })
  return begin + tables.join('\n') + (dialect === 'sqlite' ? '\nCOMMIT;\n' : '\n')
}

function plainType(type: string): string {
  const [name = ''] = type.split(' ')
  return name
    .replace('bigserial', 'integer PRIMARY KEY')
    .replace('boolean', 'numeric')
    .replace('timestamptz', 'datetime')
}

function literal(value: Value, dialect: Dialect): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return dialect === 'postgres' ? String(value) : value ? '1' : '0'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  switch (dialect) {
    case 'postgres':
      return `'${text.replaceAll("'", "''")}'`
    case 'mysql':
      return `'${text.replace(/['"\\]/g, '\\$&').replaceAll('\n', '\\n')}'`
    case 'sqlite': {
      if (typeof value !== 'string') return `X'${Buffer.from(text).toString('hex')}'`
      // SQLite takes a mark that the text has not.
      const mark = text.includes('\\n') ? '\\012' : '\\n'
      const quoted = `'${text.replaceAll("'", "''").replaceAll('\n', mark)}'`
      return text.includes('\n') ? `replace(${quoted},'${mark}',char(10))` : quoted
    }
  }
}
