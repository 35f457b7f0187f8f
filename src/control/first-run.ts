import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestApiKey, generateApiKey, maskApiKey } from '../core/api-key.ts'
import { NO_LIMITS } from '../core/snapshot.ts'
import { hashPassword } from '../management/passwords.ts'
import type { Database } from '../store/database.ts'
import { DatabaseError } from '../store/database.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { countUsers, insertUser } from '../store/users.ts'
import type { FirstRun } from '../supervisor/messages.ts'

/** A number of the range kept for fiction: it can be nobody's. */
const ADMIN_PHONE = '+12025550100'
const UNIQUE_VIOLATION = '23505'

/**
 * Makes the admin user and one entry key where there is no user yet, and writes them to `first-run.json`. Null when there
 * are users. The file comes first: a start that ends in between finds it and goes on with what it says.
 */
export async function firstRun(
  database: Database,
  options: { dataDir: string; baseUrl: string; secret: Buffer },
): Promise<FirstRun | null> {
  if ((await countUsers(database)) > 0) return null
  const path = join(options.dataDir, 'first-run.json')
  const made = readExisting(path) ?? {
    base_url: options.baseUrl,
    api_key: generateApiKey(),
    admin: { phone: ADMIN_PHONE, password: randomBytes(15).toString('base64url') },
  }
  writeFileSync(`${path}.new`, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)

  const userId = `user_${randomUUID()}`
  const passwordHash = await hashPassword(made.admin.password)
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
    // Another node on the same database was first.
    if (cause instanceof DatabaseError && cause.sqlState === UNIQUE_VIOLATION) return null
    throw cause
  }
  return made
}

function readExisting(path: string): FirstRun | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as FirstRun
  } catch {
    return null
  }
}
