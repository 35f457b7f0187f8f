import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../shared/config/config-error.ts'
import type { Config } from '../../shared/config/shape.ts'
import { digestApiKey, generateApiKey, maskApiKey } from '../../shared/core/api-key.ts'
import { NO_LIMITS } from '../../shared/core/snapshot.ts'
import { hashPassword } from '../management/passwords.ts'
import { normalisePhone } from '../management/phone.ts'
import type { Database } from '../store/database.ts'
import { DatabaseError } from '../store/database.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { countUsers, insertUser } from '../store/users.ts'
import type { FirstRun } from '../../supervisor/messages.ts'

const UNIQUE_VIOLATION = '23505'

/**
 * Creates the admin user and one entry key when there is no user yet, and writes them to `first-run.json`. Returns null when there
 * are users. The file is written first: the next start after a crash in between continues with its content.
 */
export async function firstRun(
  database: Database,
  options: { dataDir: string; baseUrl: string; secret: Buffer; adminPhone: string | null },
): Promise<FirstRun | null> {
  if ((await countUsers(database)) > 0) return null
  const path = join(options.dataDir, 'first-run.json')
  const made = readExisting(path) ?? {
    base_url: options.baseUrl,
    api_key: generateApiKey(),
    admin: { phone: options.adminPhone ?? fictionalPhone(), password: randomBytes(15).toString('base64url') },
  }
  writeFileSync(`${path}.new`, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)

  const userId = `user_${randomUUID()}`
  const passwordHash = await hashPassword(made.admin.password, made.admin)
  try {
    await database.transaction(async (tx) => {
      await insertUser(tx, {
        id: userId,
        phone: made.admin.phone,
        name: 'Administrator',
        passwordHash,
        role: 'admin',
        status: 'active',
      })
      await insertEntryKey(tx, {
        id: `key_${randomUUID()}`,
        digest: digestApiKey(made.api_key, options.secret),
        masked: maskApiKey(made.api_key),
        name: 'First key',
        enabled: true,
        expiresAtMs: null,
        userId,
        enterpriseId: null,
        departmentId: null,
        memberId: null,
        limits: NO_LIMITS,
        userLimits: NO_LIMITS,
        enterpriseLimits: NO_LIMITS,
        models: null,
        addresses: null,
        clients: null,
      })
    })
  } catch (cause) {
    // Another node on the same database created the user first.
    if (cause instanceof DatabaseError && cause.sqlState === UNIQUE_VIOLATION) return null
    throw cause
  }
  return made
}

/** Returns the first admin's phone number in E.164, or null when the configuration has none. Throws ConfigError for an invalid number. */
export function firstAdminPhone({ firstAdminPhone: phone, file }: Config): string | null {
  try {
    return phone === null ? null : normalisePhone(phone)
  } catch {
    throw new ConfigError(
      'auth.first_admin_phone is not a phone number with its country code, like +12025550100',
      file === null ? {} : { file },
    )
  }
}

/** Returns a random number from the ranges reserved for fiction, 555-0100 to 555-0199 of each area: it belongs to nobody. */
export function fictionalPhone(): string {
  const area = `${randomInt(2, 10)}${randomInt(2, 9)}${randomInt(0, 10)}`
  return `+1${area}55501${String(randomInt(0, 100)).padStart(2, '0')}`
}

function readExisting(path: string): FirstRun | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as FirstRun
  } catch {
    return null
  }
}
