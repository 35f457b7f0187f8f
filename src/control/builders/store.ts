import { setTimeout as elapsed } from 'node:timers/promises'
import { ConfigError } from '../../shared/config/config-error.ts'
import type { Secrets } from '../../shared/config/secrets.ts'
import type { Config, DeclaredKey } from '../../shared/config/shape.ts'
import { nodeName } from '../../supervisor/node-name.ts'
import { declaredEntryKey } from '../lifecycle/declared-keys.ts'
import { firstAdminPhone, firstRun } from '../lifecycle/first-run.ts'
import type { Database } from '../store/database.ts'
import { keepDeclaredKeys } from '../store/entry-keys.ts'
import { migrate } from '../store/migrate.ts'
import { openDatabase } from '../store/open-database.ts'
import { secretsOf } from '../store/secrets-check.ts'
import { initialiseSetting } from '../store/settings.ts'
import type { ControlBase } from './base.ts'

const RETRY_MS = 1_000

export interface ControlStore {
  readonly database: Database
  readonly secrets: Secrets
  /** The accounts of the first run; null when this is not the first. */
  readonly made: Awaited<ReturnType<typeof firstRun>>
  /** This machine, as other machines know it. */
  readonly node: string
  /** Stores the entry keys of a configuration that was read again, and turns off those that it lacks. */
  keepDeclaredKeys(keys: readonly DeclaredKey[]): Promise<void>
}

/**
 * Opens and prepares the database. On the first start of a gateway a database that cannot be had is an error to show; a
 * control process that was started again waits for it, while the fronts serve.
 */
export async function openStore(base: ControlBase): Promise<ControlStore> {
  const { setup, config, logger, clock } = base
  const adminPhone = firstAdminPhone(config)
  for (;;) {
    try {
      const node = await nodeName(config.dataDir)
      const store = await open(base, node, adminPhone)
      await initialiseSetting(store.database, 'installed_at', new Date(clock.now()).toISOString())
      const { database, secrets } = store
      return { ...store, node, keepDeclaredKeys: (keys) => keep(database, node, keys, secrets) }
    } catch (cause) {
      // A line for the operator as it is.
      if (!setup.isRestart && cause instanceof ConfigError) throw cause
      if (!setup.isRestart) throw new Error(databaseMessage(config, cause), { cause })
      logger.error({ err: cause }, 'the database cannot be opened; trying again')
      await elapsed(RETRY_MS)
    }
  }
}

async function open(
  { setup, config, logger }: ControlBase,
  node: string,
  adminPhone: string | null,
): Promise<Omit<ControlStore, 'node' | 'keepDeclaredKeys'>> {
  const database = await openDatabase({
    ...config.database,
    dataDir: config.dataDir,
    onFault: (error) => {
      logger.warn({ err: error }, 'the database reports a fault')
    },
  })
  try {
    await migrate(database)
    const secrets = await secretsOf(database, config.dataDir, process.env)
    await keep(database, node, config.keys, secrets)
    const baseUrl = config.server.baseUrl ?? setup.displayUrl
    const made = await firstRun(database, { dataDir: config.dataDir, baseUrl, secret: secrets.keyHash, adminPhone })
    return { database, secrets, made }
  } catch (cause) {
    await database.close()
    throw cause
  }
}

function keep(database: Database, node: string, keys: readonly DeclaredKey[], { keyHash }: Secrets): Promise<void> {
  const entries = keys.map((key) => declaredEntryKey(key, keyHash))
  return database.transaction((tx) => keepDeclaredKeys(tx, node, entries))
}

function databaseMessage(config: Config, cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause)
  if (config.database.url === null) return `the embedded database in ${config.dataDir} cannot be opened: ${reason}`
  const { host } = new URL(config.database.url.replace('@/', '@socket/'))
  return `the database at ${host} (DATABASE_URL) cannot be used: ${reason}`
}
