import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { generateApiKey } from '../../../src/shared/core/api-key.ts'
import { read } from './load.ts'

it('needs no file: the defaults are a whole configuration with the simulator on', () => {
  const config = read({})

  expect(config).toMatchObject({
    server: { host: '0.0.0.0', port: 8787, baseUrl: null, fronts: 3, tls: null, vendor: 'anthropic', corsOrigins: [] },
    limits: { maxBodyBytes: 33_554_432, keyDefaults: { requestsPerMinute: 6_000_000, concurrency: 10_000 } },
    workers: { threads: 3, inlineMaxBytes: 16_384, maxQueue: 256 },
    upstream: { timeouts: { connectMs: 5000, totalMs: 3_600_000 }, maxAttempts: 3 },
    upstreams: [],
    keys: [],
    database: { url: null, maxConnections: 10, statementTimeoutMs: 30_000 },
    redis: { address: null, keyPrefix: 'sluice', degraded: { default: 'shares', concurrency: null } },
    journal: {
      durability: 'os',
      segmentMaxBytes: 67_108_864,
      segmentMaxAgeMs: 600_000,
      reserveBytes: 16_777_216,
      alertLagMs: 60_000,
    },
    log: { level: 'info', file: null, retentionDays: 90 },
    simulator: { enabled: true },
    file: null,
  })
  expect(basename(config.dataDir)).toBe('data')
})

it('reads ./sluice.yaml, beaten by SLUICE_CONFIG, beaten by --config', () => {
  const files = { 'a.yaml': 'server: {port: 1}', 'b.yaml': 'server: {port: 2}' }
  const yaml = 'server: {port: 3}'

  expect(read({ yaml, files }).server.port).toBe(3)
  expect(read({ yaml, files, env: { SLUICE_CONFIG: 'a.yaml' } }).server.port).toBe(1)
  const both = read({ yaml, files, env: { SLUICE_CONFIG: 'a.yaml' }, argv: ['--config', 'b.yaml'] })
  expect(both.server.port).toBe(2)
  expect(basename(both.file ?? '')).toBe('b.yaml')
  expect(read({ files, argv: ['--config=b.yaml'] }).server.port).toBe(2)
})

it('takes an empty file, an empty section and a JSON file', () => {
  expect(read({ yaml: '' }).server.port).toBe(8787)
  expect(read({ yaml: '# nothing\nserver:\nlimits:\n  key_defaults:\n' }).limits.keyDefaults.concurrency).toBe(10_000)
  expect(read({ yaml: '{"server": {"port": 9}}' }).server.port).toBe(9)
})

it('lets each well-known variable beat the file, and SLUICE__ variables beat those', () => {
  const env = {
    PORT: '1000',
    HOST: '::1',
    SLUICE_FRONTS: '7',
    SLUICE_DATA_DIR: '/var/lib/sluice',
    DATABASE_URL: 'postgres://u:${p}@h/d',
    REDIS_URL: 'redis://h',
    LOG_LEVEL: 'DEBUG',
  }
  const config = read({ yaml: 'server: {port: 5, host: a}\ndata_dir: x\nlog: {level: error}', env })

  expect(config).toMatchObject({
    server: { port: 1000, host: '::1', fronts: 7 },
    dataDir: '/var/lib/sluice',
    log: { level: 'debug' },
  })
  expect(config.database.url).toBe('postgres://u:${p}@h/d')
  expect(config.redis.address).toEqual({ kind: 'single', url: 'redis://h' })
  expect(read({ env: { PORT: '1000', SLUICE__SERVER__PORT: '2000' } }).server.port).toBe(2000)
})

it('sets any key from the environment, lists and list items too', () => {
  const config = read({
    yaml: 'upstreams: [{id: a, dialect: openai-chat, base_url: "http://a", keys: [{credential: c}], models: [m]}]',
    env: {
      SLUICE__LIMITS__KEY_DEFAULTS__CONCURRENCY: '5',
      SLUICE__SERVER__TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1',
      SLUICE__SERVER__CORS_ORIGINS: '["*"]',
      SLUICE__SIMULATOR__ENABLED: 'true',
      SLUICE__UPSTREAMS__0__KEYS__0__CREDENTIAL: '1234',
      SLUICE__UPSTREAMS__1: '{id: b, dialect: openai-chat, base_url: "http://b", auth: none, models: ["${M}"]}',
      M: 'from-the-environment',
      SLUICE__LOG__FILE: '',
    },
  })

  expect(config.limits.keyDefaults.concurrency).toBe(5)
  expect(config.server.trustedProxies).toEqual(['10.0.0.0/8', '127.0.0.1'])
  expect(config.server.corsOrigins).toEqual(['*'])
  expect(config.simulator.enabled).toBe(true)
  expect(config.upstreams[0]?.keys[0]?.credential).toBe('1234')
  expect(config.upstreams[1]?.models[0]?.id).toBe('from-the-environment')
  expect(config.log.file).toBeNull()
})

it('interpolates variables, defaults and files, keeping the type the key wants', () => {
  const config = read({
    yaml: [
      'server:',
      '  port: ${P}',
      '  host: "${H:-127.0.0.1}"',
      '  fronts: ${EMPTY:-2}',
      '  cors_origins: ${ORIGINS}',
      'database: { url: "postgres://u:${file:password}@h/$${x}" }',
      'data_dir: a-${P}-b',
      'simulator: { enabled: "${ON}" }',
    ].join('\n'),
    env: { P: '81', EMPTY: '', ORIGINS: 'https://a.example,https://b.example', ON: 'false' },
    files: { password: 'hush\n' },
  })

  expect(config.server).toMatchObject({ port: 81, host: '127.0.0.1', fronts: 2 })
  expect(config.server.corsOrigins).toEqual(['https://a.example', 'https://b.example'])
  expect(config.database.url).toBe('postgres://u:hush@h/${x}')
  expect(basename(config.dataDir)).toBe('a-81-b')
  expect(config.simulator.enabled).toBe(false)
})

it('is frozen to the last member', () => {
  const config = read({ yaml: 'server: {trusted_proxies: [127.0.0.1]}' })

  expect(() => Object.assign(config.limits.keyDefaults, { concurrency: 1 })).toThrow(TypeError)
  expect(() => (config.server.trustedProxies as string[]).push('::1')).toThrow(TypeError)
})

it('shows no secret in JSON or in inspect, however deep', () => {
  const key = generateApiKey()
  const config = read({
    yaml: `
upstreams:
  - {id: a, dialect: openai-chat, base_url: "http://a", headers: {X-Team: CANARY-1}, models: [m], keys: [{credential: CANARY-2}]}
keys: [{name: n, key: ${key}}]
database: {url: "postgres://u:CANARY-3@h/d"}
redis: {url: "redis://:CANARY-4@h"}`,
    env: { GROQ_API_KEY: 'CANARY-5' },
  })

  for (const shown of [JSON.stringify(config), inspect(config, { depth: 20 }), inspect(config.upstreams[0]?.keys)]) {
    expect(shown).not.toContain('CANARY')
    expect(shown).not.toContain(key)
    expect(shown).toContain('[redacted]')
  }
  expect(config.upstreams[0]?.keys[0]?.credential).toBe('CANARY-2')
  expect(config.upstreams[0]?.headers['x-team']).toBe('CANARY-1')
})

it('accepts the example file, which says the defaults', () => {
  const yaml = readFileSync(new URL('../../../config/sluice.example.yaml', import.meta.url), 'utf8')

  const { file, dataDir, shownSettings, ...config } = read({ yaml })
  const { file: none, dataDir: defaultDir, shownSettings: shownDefaults, ...defaults } = read({})
  expect(config).toEqual(defaults)
  const valuesOf = (settings: typeof shownSettings) => settings.map(({ name, value, isSet }) => [name, value, isSet])
  expect(valuesOf(shownSettings)).toEqual(valuesOf(shownDefaults))
  expect([basename(file ?? ''), basename(dataDir), none, basename(defaultDir)]).toEqual([
    'sluice.yaml',
    'data',
    null,
    'data',
  ])
})

const SERVICE_ACCOUNT = {
  type: 'service_account',
  client_email: 'sluice@my-project.iam.gserviceaccount.com',
  private_key: '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n',
}

it('accepts every example of the example file', () => {
  const yaml = readFileSync(new URL('../../../config/sluice.example.yaml', import.meta.url), 'utf8')
  const uncommented = yaml
    .replace(/^(upstreams|fallbacks|models|model_groups|keys| {2}servers): (\[\]|\{\}).*\n/gm, '')
    .replace(/^(simulator|mail|  degraded_limits): \{\}/gm, '$1:')
    .replace(/^( *)# (?=( *)(- |[a-z_]+:))/gm, '$1')
    .replace('/run/secrets/demo-key', 'demo-key')
    .replace('/run/secrets/metrics-token', 'metrics-token')
    .replace('/run/secrets/service-account.json', 'service-account.json')
    .replaceAll('/etc/sluice/', './')

  const files = {
    'demo-key': generateApiKey(),
    'metrics-token': 'm'.repeat(16),
    'cert.pem': readFileSync('test/fixtures/tls/localhost.crt', 'utf8'),
    'key.pem': readFileSync('test/fixtures/tls/localhost.key', 'utf8'),
    'service-account.json': JSON.stringify(SERVICE_ACCOUNT),
  }
  const cloud = { MY_AZURE_KEY: 'a', MY_AWS_KEY_ID: 'b', MY_AWS_SECRET: 'c', SEARCH_TOKEN: 'd' }
  const config = read({ yaml: uncommented, env: { MY_OPENAI_KEY: 'x', MY_GROQ_KEY: 'y', ...cloud }, files })
  expect(config.upstreams[0]?.models.map((model) => model.upstreamModel)).toEqual(['gpt-4o', 'gpt-*', 'gpt-4o-mini'])
  expect(config.models[0]).toMatchObject({ id: 'gpt-4o', aliases: ['smart'], prices: { cachedInput: 1_250_000 } })
  expect(config.keys[0]).toMatchObject({ name: 'demo', limits: { requestsPerMinute: 600 }, addresses: ['10.0.0.0/8'] })
  expect(config).toMatchObject({ server: { fronts: 3 }, redis: { address: { url: 'redis://localhost:6379' } } })
})

it('takes sentinels or a cluster in place of the address of a Redis, and shows no password', () => {
  const sentinels = read({ yaml: 'redis: {sentinels: ["a:1", b], master_name: m, password: CANARY}' }).redis
  expect(sentinels.address).toMatchObject({ kind: 'sentinel', name: 'm', hosts: [{ port: 1 }, { port: 26_379 }] })
  expect(JSON.stringify(sentinels)).not.toContain('CANARY')
  const cluster = read({ yaml: 'redis: {cluster: [a], degraded_limits: {concurrency: open}}' }).redis
  expect(cluster).toMatchObject({
    address: { kind: 'cluster', hosts: [{ host: 'a', port: 6379 }] },
    degraded: { default: 'shares', concurrency: 'open' },
  })
  expect(() => read({ yaml: 'redis: {cluster: [a], url: "redis://h"}' })).toThrow('one of url, sentinels and cluster')
})
