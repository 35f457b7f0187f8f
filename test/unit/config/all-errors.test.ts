import { expect, it } from 'vitest'
import { ConfigError } from '../../../src/shared/config/config-error.ts'
import { read } from './load.ts'

function problemsOf(setting: Parameters<typeof read>[0]): string[] {
  try {
    read(setting)
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.problems.map(({ message }) => message)
    throw cause
  }
  return []
}

const BROKEN = `server:
  port: 70000
  prot: 1
  trusted_proxies: [nowhere, 10.0.0.0/8, 10.0.0.0/99]
  tls: {cert_file: no-cert.pem, key_file: no-key.pem}
log: {level: inof}
data_dir: \${NOPE}
upstreams:
  - id: a
    dialect: openai-chat
    base_url: ftp://a
    keys: [{credential: "a b "}, {weight: 2}]
    models: [m, m]
  - id: b
    provider: openai
    headers: {authorization: x, host: y}
    keys: [{credential: "one\\ttwo "}, {credential: good, id: k}]
    models: ["a*b", gpt-4o, gpt-4o]
  - id: b
    provider: groq
    keys: [{credential: c, id: k}]
fallbacks: {m: [m, n, n]}
models: [{id: "x*y"}, {id: "p*", aliases: [q]}]
keys:
  - {name: one, key: sk-short, expires_at: tomorrow, ip_allow: [here]}
  - {name: two}
redis: {url: "redis://h", cluster: [a]}
management: {private_upstreams: ["not a host"]}
`

it('reports all errors of a file at once, each with its line, its path and what is allowed', () => {
  const problems = problemsOf({
    yaml: BROKEN,
    env: { PORT: 'http', SLUICE__LOG__RETENTION_DAYS: '-1', VLLM_BASE_URL: 'x' },
  })
  const said = (text: string): string[] => problems.filter((problem) => problem.includes(text))
  for (const text of [
    'sluice.yaml:7:11: data_dir: the environment variable NOPE is not set',
    'PORT: server.port must be a whole number from 0 to 65535',
    'SLUICE__LOG__RETENTION_DAYS: log.retention_days must be a whole number from 0 to 36500',
    'server.prot is not a known key; did you mean "port"?',
    'server.trusted_proxies[0] must be an address',
    'server.trusted_proxies[2] must be an address',
    'server.tls.cert_file: the file',
    'server.tls.key_file: the file',
    'log.level must be one of debug, info, warn, error, silent',
    'upstreams[0].base_url must be an address that begins with http:// or https://',
    'upstreams[0].keys[1].credential is missing',
    'upstreams[1].headers.authorization: the header authorization belongs to the credential',
    'upstreams[1].headers.host: the header host is set by the gateway',
    'upstreams[1].keys[0].credential: a credential must not hold line breaks',
    'upstreams[1].models[0]: a "*" may only be the last character',
    'upstreams[1].models[2]: upstream b lists this model twice',
    'upstreams[2].id is taken by another upstream',
    'upstreams[2].keys[0].id is taken by another key',
    'fallbacks.m[0]: a model cannot be its own fallback',
    'fallbacks.m[2]: a fallback is listed twice',
    'models[0].id: a "*" may only be the last character',
    'models[1].aliases: a pattern cannot have aliases',
    'keys[0].key must be "sk-", 34 letters or digits',
    'keys[0].expires_at must be a time with a zone',
    'keys[0].ip_allow[0] must be an address',
    'keys[1].key is missing',
    'redis may have only one of url, sentinels and cluster',
    'management.private_upstreams[0] must be a host',
    'VLLM_BASE_URL: the address is not an address',
  ]) {
    expect([text, said(text).length]).toEqual([text, 1])
  }
  expect(problems).toHaveLength(29)
})

it('says nothing that follows from another error', () => {
  expect(problemsOf({ yaml: 'upstreams: [{id: a, provider: openai, keys: [{credential: "${NOPE}"}]}]' })).toEqual([
    expect.stringContaining('NOPE is not set') as string,
  ])
  expect(problemsOf({ yaml: 'server: []\nlog: 1' })).toHaveLength(2)
})

it('lists the errors under one another, and no more than a hundred', () => {
  const keys = Array.from({ length: 150 }, (_, index) => `  k${index}: 1`).join('\n')
  const run = (): unknown => read({ yaml: `server:\n${keys}` })
  expect(run).toThrow('the configuration has 150 errors:\n  sluice.yaml:2:3: server.k0 is not a known key')
  expect(run).toThrow('\n  and 50 more')
})

it('reports all errors of the syntax', () => {
  expect(problemsOf({ yaml: 'log: {}\nlog: {}\nserver: {}\nserver: {}\n' })).toEqual([
    'sluice.yaml:2:1: not valid YAML: Map keys must be unique',
    'sluice.yaml:4:1: not valid YAML: Map keys must be unique',
  ])
})
