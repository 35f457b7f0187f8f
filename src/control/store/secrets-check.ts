import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { ConfigError } from '../../shared/config/config-error.ts'
import type { Env } from '../../shared/config/env.ts'
import { givesKeyHash, loadOrCreateSecrets, loadSecrets } from '../../shared/config/secrets.ts'
import type { Secrets } from '../../shared/config/secrets.ts'
import type { Queryable } from './database.ts'
import { initialiseSetting, readSetting, writeSetting } from './settings.ts'

const SETTING = 'secrets_check'
const LOST = 'if they are lost for good, run sluice adopt-secrets'

/**
 * Returns the secrets of the data directory, and creates them when no key depends on other secrets. Rejects with ConfigError, and
 * creates none, when the database holds keys that were made with other secrets: no key would be valid.
 */
export async function secretsOf(database: Queryable, dataDir: string, env: Env): Promise<Secrets> {
  const present = loadSecrets(dataDir, env)
  if (present === null && !givesKeyHash(env) && (await holdsKeys(database))) {
    const file = join(dataDir, 'secrets.json')
    throw new ConfigError(
      `is missing, and the keys in the database were made with its secrets: restore it from a backup; ${LOST}`,
      { file },
    )
  }
  const secrets = present ?? loadOrCreateSecrets(dataDir, env)
  const check = checkOf(secrets)
  // A database from a version before this check has no check value: it is assumed to belong to the present secrets.
  if ((await initialiseSetting(database, SETTING, check)) === check) return secrets
  const place = givesKeyHash(env) ? { variable: 'SLUICE_SECRET_KEY_HASH' } : { file: join(dataDir, 'secrets.json') }
  throw new ConfigError(
    `holds other secrets than those that the keys in the database were made with: restore these, the secrets.json of the data directory that was used with this database before; ${LOST}`,
    place,
  )
}

/** Binds the database to these secrets. Keys and upstream credentials that were made with other secrets are lost. */
export async function adoptSecrets(database: Queryable, secrets: Secrets): Promise<void> {
  await writeSetting(database, SETTING, checkOf(secrets))
}

/** Returns a value that identifies the secrets and reveals nothing about them. */
function checkOf({ keyHash }: Secrets): string {
  return createHmac('sha256', keyHash).update('which secrets the keys of a database were made with').digest('hex')
}

async function holdsKeys(database: Queryable): Promise<boolean> {
  if ((await readSetting(database, SETTING)) !== undefined) return true
  const [row] = await database.query<{ held: boolean }>(
    'SELECT EXISTS (SELECT 1 FROM entry_keys) OR EXISTS (SELECT 1 FROM upstream_keys) AS held',
  )
  return row?.held === true
}
