import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../../src/shared/config/config-error.ts'
import { configSchema } from '../../../src/shared/config/schema.ts'
import { read, readError, type Setting } from './load.ts'
import fc from '../../support/fast-check.ts'

const SECTIONS = Object.keys(configSchema.properties).join(', ')

const upstream = (more: string): string =>
  `upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: [m], keys: [{credential: c}], ${more}}`

const cases: ReadonlyArray<readonly [what: string, setting: Setting, message: string]> = [
  [
    'an unknown key, with the one that was meant',
    { yaml: 'log:\n  level: info\nserver:\n  prot: 1\n' },
    'sluice.yaml:4:3: server.prot is not a known key; did you mean "port"?; allowed: host, port, base_url, fronts, tls, ' +
      'trusted_proxies, vendor, drain_announce_ms, drain_timeout_ms, body_timeout_ms, cors_origins',
  ],
  [
    'an unknown section',
    { yaml: 'databse: {}' },
    'sluice.yaml:1:1: databse is not a known key; did you mean "database"?; allowed: ' + SECTIONS,
  ],
  [
    'a number out of range',
    { yaml: 'server:\n  port: 70000' },
    'sluice.yaml:2:9: server.port must be a whole number from 0 to 65535, not 70000',
  ],
  [
    'a text in place of a number, without quoting it',
    { yaml: 'server:\n  port: canary' },
    'sluice.yaml:2:9: server.port must be a whole number from 0 to 65535, not a text',
  ],
  [
    'a wrong choice',
    { yaml: 'log: {level: inof}' },
    'sluice.yaml:1:14: log.level must be one of debug, info, warn, error, silent; did you mean "info"?',
  ],
  [
    'a list in place of a section',
    { yaml: 'server: []' },
    'sluice.yaml:1:9: server must be a section with keys of its own, not a list',
  ],
  [
    'a file that is no section',
    { yaml: '- 1' },
    'sluice.yaml:1:1: the file must be a section with keys of its own, not a list',
  ],
  [
    'a missing key',
    { yaml: 'upstreams:\n  - id: a\n    base_url: http://a\n    models: [m]\n' },
    'sluice.yaml:2:5: upstreams[0].dialect is missing; it must be openai-chat or anthropic-messages or anthropic-vertex or gemini or bedrock-converse or bedrock-invoke or cohere-chat, or give a provider',
  ],
  [
    'a wrong member of a union',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: [m, {id: n, wieght: 1}]}' },
    'sluice.yaml:2:77: upstreams[0].models[1].wieght is not a known key; did you mean "weight"?; allowed: id, ' +
      'upstream_model, weight, priority, owned_by',
  ],
  [
    'neither branch of a union',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: [7]}' },
    'sluice.yaml:2:66: upstreams[0].models[0] must be a text of 1 to 256 characters or a section with keys of its own, not 7',
  ],
  ['a key given twice', { yaml: 'log: {}\nlog: {}' }, 'sluice.yaml:2:1: not valid YAML: Map keys must be unique'],
  [
    'a variable that is not set',
    { yaml: 'data_dir: ${NOPE}' },
    'sluice.yaml:1:11: data_dir: the environment variable NOPE is not set; set it or write ${NOPE:-default}',
  ],
  [
    'a reference nobody understands',
    { yaml: 'data_dir: ${a b}' },
    'sluice.yaml:1:11: data_dir: ${a b} is not understood; use ${NAME}, ${NAME:-default} or ${file:/path}',
  ],
  [
    'a file that is not there',
    { yaml: 'data_dir: ${file:nope}' },
    'sluice.yaml:1:11: data_dir: the file nope cannot be read (no such file)',
  ],
  [
    'a wrong well-known variable',
    { env: { PORT: 'http' } },
    'PORT: server.port must be a whole number from 0 to 65535, not a text',
  ],
  [
    'an unknown key in a variable',
    { env: { SLUICE__SERVER__PROT: '1' } },
    'SLUICE__SERVER__PROT: server.prot is not a known key; did you mean "port"?; allowed: host, port, base_url, fronts, ' +
      'tls, trusted_proxies, vendor, drain_announce_ms, drain_timeout_ms, body_timeout_ms, cors_origins',
  ],
  [
    'a variable that skips a list item',
    { env: { SLUICE__UPSTREAMS__1__ID: 'a' } },
    'SLUICE__UPSTREAMS__1__ID: the list has 0 items; the next index is 0, not 1',
  ],
  [
    'a section made by a variable alone that lacks a key',
    { yaml: 'log: {}', env: { SLUICE__UPSTREAMS__0__ID: 'a' } },
    'SLUICE__UPSTREAMS__0__ID: upstreams[0].dialect is missing; it must be openai-chat or anthropic-messages or anthropic-vertex or gemini or bedrock-converse or bedrock-invoke or cohere-chat, or give a provider',
  ],
  [
    'a configuration file that is not there',
    { argv: ['--config', 'no.yaml'] },
    'no.yaml: cannot be read (no such file)',
  ],
  ['an unknown argument', { argv: ['--confg', 'x'] }, "Unknown option '--confg'; usage: --config FILE"],
  [
    'an address of an upstream with a password',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://u:p@a", models: [m]}' },
    'sluice.yaml:2:45: upstreams[0].base_url: base_url of upstream a must not hold a user or password',
  ],
  [
    'an address of an upstream that names the endpoint',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a/v1/chat/completions", models: [m]}' },
    'sluice.yaml:2:45: upstreams[0].base_url: base_url of upstream a must not end in /chat/completions; it is appended',
  ],
  [
    'an upstream without a credential',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: [m]}' },
    'sluice.yaml:2:5: upstreams[0].keys: upstream a needs a key with a credential (or auth: none)',
  ],
  [
    'an upstream without models',
    { yaml: 'upstreams:\n  - {id: a, dialect: openai-chat, base_url: "http://a", models: []}' },
    'sluice.yaml:2:65: upstreams[0].models must be a list of one item or more',
  ],
  [
    'a header the gateway sets',
    { yaml: upstream('headers: {Host: x}') },
    'sluice.yaml:2:111: upstreams[0].headers.Host: the header host is set by the gateway and cannot be configured',
  ],
  [
    'a header with a line break',
    { yaml: upstream('headers: {x-a: "b\\nc"}') },
    'sluice.yaml:2:110: upstreams[0].headers.x-a: the value of header x-a must not hold line breaks or control characters',
  ],
  [
    'a pattern in the middle of a model id',
    { yaml: upstream('name: x').replace('[m]', '[a*b]') },
    'sluice.yaml:2:66: upstreams[0].models[0]: a "*" may only be the last character of a model id',
  ],
  [
    'an upstream id taken twice',
    {
      yaml: `${upstream('name: x')}\n  - {id: a, dialect: openai-chat, base_url: "http://b", auth: none, models: [m]}`,
    },
    'sluice.yaml:3:10: upstreams[1].id is taken by another upstream',
  ],
  [
    'an entry key with a wrong checksum',
    { yaml: `keys: [{name: n, key: sk-${'a'.repeat(40)}}]` },
    'sluice.yaml:1:23: keys[0].key must be "sk-", 34 letters or digits and the 6 characters of their checksum',
  ],
  [
    'a proxy that is no address',
    { env: { SLUICE__SERVER__TRUSTED_PROXIES: '10.0.0.0/33' } },
    'SLUICE__SERVER__TRUSTED_PROXIES: server.trusted_proxies[0] must be an address or a CIDR range, e.g. 10.0.0.0/8',
  ],
  [
    'an origin with a path',
    { yaml: 'server: {cors_origins: ["https://a.example/x"]}' },
    'sluice.yaml:1:25: server.cors_origins[0] must be "*" or an origin without a path, e.g. https://example.com',
  ],
  [
    'TLS with half of what it needs',
    { yaml: 'server:\n  tls:\n    cert_file: a.pem' },
    'sluice.yaml:3:5: server.tls.key_file is missing; it must be a text that is not empty',
  ],
  [
    'a provider address that is none',
    { env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'api' } },
    'OPENAI_BASE_URL: the address is not an address',
  ],
  [
    'a member named like the prototype',
    { yaml: '__proto__: {port: 1}' },
    `sluice.yaml:1:1: __proto__ is not a known key; allowed: ${SECTIONS}`,
  ],
]

describe('says in one line where and what', () => {
  it.each(cases)('%s', (_what, setting, message) => {
    expect(readError(setting).message).toBe(message)
  })
})

it('carries file, line, column and path as values', () => {
  const error = readError({ yaml: 'server:\n  port: x' })

  expect(error.place).toEqual({ file: 'sluice.yaml', line: 2, column: 9, variable: null })
  expect(error.path).toEqual(['server', 'port'])
})

it('never quotes a text value, wherever a secret was put by mistake', () => {
  const keys = [
    'server.port',
    'server.fronts',
    'log.level',
    'journal.durability',
    'limits.max_body_bytes',
    'simulator.enabled',
  ]
  for (const key of keys) {
    const variable = `SLUICE__${key.toUpperCase().replace('.', '__')}`
    expect(readError({ env: { [variable]: 'sk-canary' } }).message).not.toContain('canary')
    const [section, name] = key.split('.')
    const yaml = `${section}: {${name}: "\${SECRET}"}`
    expect(readError({ yaml, env: { SECRET: 'canary' } }).message).not.toContain('canary')
  }
})

it('ends in a configuration or a ConfigError of one line, whatever the file holds', () => {
  const names = fc.constantFrom(
    'server',
    'port',
    'upstreams',
    'keys',
    'models',
    'tls',
    'headers',
    'id',
    'x',
    '__proto__',
  )
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant('${X:-1}'), fc.double())
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(names, tie('tree'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        tree.map((value) => JSON.stringify(value) ?? ''),
      ),
      (yaml) => {
        try {
          read({ yaml })
        } catch (cause) {
          expect(cause).toBeInstanceOf(ConfigError)
          for (const { message } of (cause as ConfigError).problems) expect(message.split('\n')).toHaveLength(1)
        }
      },
    ),
    { numRuns: 300 },
  )
})
