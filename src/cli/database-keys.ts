import { ENTERPRISE_KEYS } from '../api/operations/enterprise-keys.ts'
import { KEYS } from '../api/operations/keys.ts'
import type { RequestOf, ResultOf } from '../client/operations.ts'
import { digestApiKey, generateApiKey, maskApiKey } from '../core/api-key.ts'
import { newEntryKey, renderedEnterpriseKey, renderedKey } from '../management/entry-keys.ts'
import { normalisePhone } from '../management/phone.ts'
import type { Database } from '../store/database.ts'
import { findEnterprise } from '../store/enterprises.ts'
import { insertEntryKey } from '../store/entry-keys.ts'
import { deleteOwnedKey, findOwnedKey, listOwnedKeys, rotateOwnedKey, toggleOwnedKey } from '../store/owned-keys.ts'
import type { KeyOwner, OwnedKey } from '../store/owned-keys.ts'
import { findUserByPhone, listAdmins } from '../store/users.ts'
import { OperationValidator } from '../validation/operation-validator.ts'
import type { KeysDoor, WhoseKeys } from './keys-door.ts'

const PAGE = 100
const DAY_SECONDS = 86_400

/** Keys as the database has them. Fronts of a gateway that runs on it hear of changes as of those of the management plane. */
export class DatabaseKeys implements KeysDoor {
  readonly #database: Database
  readonly #owner: KeyOwner
  readonly #hashSecret: Buffer
  readonly #validator = new OperationValidator()

  private constructor(database: Database, owner: KeyOwner, hashSecret: Buffer) {
    this.#database = database
    this.#owner = owner
    this.#hashSecret = hashSecret
  }

  /** Rejects where there is no such user or enterprise, and where nobody says which of several admins is meant. */
  static async of(
    database: Database,
    whose: { readonly [Name in 'user' | 'enterprise']: WhoseKeys[Name] | undefined },
    hashSecret: Buffer,
  ): Promise<DatabaseKeys> {
    return new DatabaseKeys(database, await ownerOf(database, whose), hashSecret)
  }

  async list(): Promise<ReadonlyArray<ResultOf<'getKey'>>> {
    const all: OwnedKey[] = []
    for (;;) {
      const { keys } = await listOwnedKeys(this.#database, this.#owner, { offset: all.length, limit: PAGE })
      all.push(...keys)
      if (keys.length < PAGE) return all.map((key) => this.#rendered(key))
    }
  }

  async create(body: RequestOf<'createEnterpriseKey'>['body']): Promise<ResultOf<'createKey'>> {
    const operation = this.#owner.kind === 'user' ? KEYS.createKey : ENTERPRISE_KEYS.createEnterpriseKey
    this.#validator.body(operation, body)
    const { secret, entry } = newEntryKey(this.#owner, body, this.#hashSecret)
    await insertEntryKey(this.#database, entry)
    return {
      ...this.#rendered(known(await findOwnedKey(this.#database, this.#owner, entry.id), entry.id)),
      key: secret,
    }
  }

  async toggle(id: string, enabled: boolean | null): Promise<ResultOf<'getKey'>> {
    return this.#rendered(known(await toggleOwnedKey(this.#database, this.#owner, id, enabled), id))
  }

  async rotate(id: string, graceSeconds: number = DAY_SECONDS): Promise<ResultOf<'createKey'>> {
    this.#validator.body(KEYS.rotateKey, { grace_seconds: graceSeconds })
    const key = generateApiKey()
    const oldUntil = new Date(Date.now() + graceSeconds * 1000)
    const fresh = { digest: digestApiKey(key, this.#hashSecret), masked: maskApiKey(key), oldUntil }
    const rotated = await this.#database.transaction((tx) => rotateOwnedKey(tx, this.#owner, id, fresh))
    return { ...this.#rendered(known(rotated, id)), key }
  }

  async delete(id: string): Promise<void> {
    if (!(await deleteOwnedKey(this.#database, this.#owner, id))) known(null, id)
  }

  #rendered(key: OwnedKey): ResultOf<'getKey'> {
    return this.#owner.kind === 'user' ? renderedKey(key) : renderedEnterpriseKey(key)
  }
}

async function ownerOf(
  database: Database,
  { user, enterprise }: { readonly [Name in 'user' | 'enterprise']: WhoseKeys[Name] | undefined },
): Promise<KeyOwner> {
  if (enterprise !== undefined) {
    if ((await findEnterprise(database, enterprise)) === null) throw new Error(`there is no enterprise ${enterprise}`)
    return { kind: 'enterprise', enterpriseId: enterprise }
  }
  if (user !== undefined) {
    const found = await findUserByPhone(database, normalisePhone(user))
    if (found === null) throw new Error(`there is no user with the number ${user}`)
    return { kind: 'user', userId: found.id }
  }
  const admins = await listAdmins(database)
  const [admin, another] = admins
  if (admin === undefined) throw new Error('there is no admin yet: start the gateway once, or run sluice create-admin')
  if (another !== undefined)
    throw new Error(`whose keys? There are admins ${admins.map(({ phone }) => phone).join(', ')}: give --user`)
  return { kind: 'user', userId: admin.id }
}

function known<T>(key: T | null, id: string): T {
  if (key === null) throw new Error(`there is no key ${id}`)
  return key
}
