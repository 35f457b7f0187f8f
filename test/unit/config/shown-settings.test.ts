import { describe, expect, it } from 'vitest'
import { configChanges } from '../../../src/shared/config/changes.ts'
import { configSchema } from '../../../src/shared/config/schema.ts'
import type { Config } from '../../../src/shared/config/shape.ts'
import { shownSettings } from '../../../src/shared/config/shown-settings.ts'
import { read } from './load.ts'

const settingOf = ({ shownSettings }: Config, name: string) => shownSettings.find((one) => one.name === name)

describe('a setting as it is shown', () => {
  it('has its value, and the place that it comes from: the later one wins', () => {
    const config = read({
      yaml: 'log: {level: warn}\nserver: {port: 1, cors_origins: ["https://a.example"]}\nworkers: {max_queue: 9}',
      env: { PORT: '2', SLUICE__LIMITS__MAX_JSON_DEPTH: '32', SLUICE__WORKERS__MAX_QUEUE: '8' },
    })
    expect(settingOf(config, 'log.level')).toEqual({
      name: 'log.level',
      value: 'warn',
      isSecret: false,
      isSet: true,
      entries: null,
      source: 'file',
      variable: null,
    })
    expect(settingOf(config, 'server.port')).toMatchObject({ value: 2, source: 'environment', variable: 'PORT' })
    expect(settingOf(config, 'server.cors_origins')).toMatchObject({ value: ['https://a.example'], source: 'file' })
    expect(settingOf(config, 'limits.max_json_depth')).toMatchObject({ value: 32, source: 'environment' })
    expect(settingOf(config, 'workers.max_queue')).toMatchObject({
      value: 8,
      source: 'environment',
      variable: 'SLUICE__WORKERS__MAX_QUEUE',
    })
    expect(settingOf(config, 'log.retention_days')).toMatchObject({ value: 90, source: 'default', variable: null })
    expect(settingOf(config, 'server.tls.cert_file')).toMatchObject({ value: null, isSet: false, source: 'default' })
  })

  it('is a count where it is a list of entries', () => {
    const config = read({
      yaml: 'upstreams: [{id: a, provider: openai, keys: [{credential: CANARY}]}]\nfallbacks: {gpt-4o: [gpt-4o-mini]}',
      env: { SLUICE__UPSTREAMS__0__KEYS__1__CREDENTIAL: 'CANARY' },
    })
    expect(settingOf(config, 'upstreams')).toMatchObject({ value: null, entries: 1, source: 'environment' })
    expect(settingOf(config, 'fallbacks')).toMatchObject({ value: null, entries: 1, source: 'file' })
    expect(settingOf(config, 'models')).toMatchObject({ value: null, entries: 0, source: 'default' })
    expect(JSON.stringify(config.shownSettings)).not.toContain('CANARY')
  })

  it('tells of a secret only that it is set and by what, also of one in an address', () => {
    const config = read({
      yaml: `
redis: {url: "redis://:CANARY@h"}
metrics: {token: CANARY-CANARY-CANARY-CANARY-CANARY}
mail: {smtp: {url: "smtps://u:CANARY@h", from: a@example.com}}`,
      env: { DATABASE_URL: 'postgres://u:CANARY@h/d' },
    })
    const secret = { value: null, isSecret: true, isSet: true }
    expect(settingOf(config, 'database.url')).toMatchObject({
      ...secret,
      source: 'environment',
      variable: 'DATABASE_URL',
    })
    for (const name of ['redis.url', 'metrics.token', 'mail.smtp.url']) {
      expect(settingOf(config, name), name).toMatchObject({ ...secret, source: 'file' })
    }
    expect(settingOf(config, 'wallet.payment_secret')).toMatchObject({ value: null, isSecret: true, isSet: false })
    expect(JSON.stringify(config.shownSettings)).not.toContain('CANARY')
    const tree = { server: { base_url: 'https://u:CANARY@gateway.example' } }
    const shown = shownSettings(configSchema, tree, { file: tree, overrides: [] })
    expect(shown.find(({ name }) => name === 'server.base_url')?.value).toBe('https://gateway.example')
  })

  it('is that of the running gateway when the file is read again', () => {
    const running = read({ yaml: 'data_dir: /tmp/x\nlog: {level: warn}' })
    const fresh = read({ yaml: 'data_dir: /tmp/x\nlog: {level: error}\nupstream: {timeouts: {idle_ms: 7}}' })
    const { config, needRestart } = configChanges(running, fresh, false)
    expect(needRestart).toEqual(['log.level'])
    expect(settingOf(config, 'log.level')).toMatchObject({ value: 'warn' })
    expect(settingOf(config, 'upstream.timeouts.idle_ms')).toMatchObject({ value: 7, source: 'file' })
  })
})
