import { ENTERPRISE_KEYS } from '../shared/api/operations/enterprise-keys.ts'
import { KEYS } from '../shared/api/operations/keys.ts'
import type { RequestOf, ResultOf } from '../client/operations.ts'
import { digestApiKey, generateApiKey, maskApiKey } from '../shared/core/api-key.ts'
import { changedFields } from '../control/management/audit-changes.ts'
import { checkRoomForKey, newEntryKey, renderedEnterpriseKey, renderedKey } from '../control/management/entry-keys.ts'
import { enterpriseDeleted } from '../control/management/guard.ts'
import { normalisePhone } from '../control/management/phone.ts'
import type { Database, Queryable } from '../control/store/database.ts'
import { insertAuditEntry } from '../control/store/audit-log.ts'
import { findEnterprise } from '../control/store/enterprises.ts'
import { insertEntryKey } from '../control/store/entry-keys.ts'
import {
  deleteOwnedKey,
  findOwnedKey,
  listOwnedKeys,
  rotateOwnedKey,
  toggleOwnedKey,
} from '../control/store/owned-keys.ts'
import type { KeyOwner, OwnedKey } from '../control/store/owned-keys.ts'
import { findUserByPhone, listAdmins } from '../control/store/users.ts'
import { OperationValidator } from '../control/management/operation-validator.ts'
import { BY_OPERATOR } from './by-operator.ts'
import type { KeysBackend, WhoseKeys } from './keys-backend.ts'

const PAGE = 100
const DAY_SECONDS = 86_400

/** Manages keys in the database. A running gateway learns of the changes as it does of those of the management API. */
export class DatabaseKeys implements KeysBackend {
  readonly #database: Database
  readonly #owner: KeyOwner
  readonly #hashSecret: Buffer
  readonly #validator = new OperationValidator()

  private constructor(database: Database, owner: KeyOwner, hashSecret: Buffer) {
    this.#database = database
    this.#owner = owner
    this.#hashSecret = hashSecret
  }

  /** Rejects when the user or enterprise does not exist, and when there are several admins and `whose` names none. */
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
    const { secret, entry } = await newEntryKey(this.#owner, body, { keyHash: this.#hashSecret, mayCapture: false })
    const made = await this.#change('create', entry.id, body, async (tx) => {
      await checkRoomForKey(tx, this.#owner)
      await insertEntryKey(tx, entry)
      return findOwnedKey(tx, this.#owner, entry.id)
    })
    return { ...this.#rendered(made), key: secret }
  }

  async toggle(id: string, enabled: boolean | null): Promise<ResultOf<'getKey'>> {
    const change = (tx: Queryable): Promise<OwnedKey | null> => toggleOwnedKey(tx, this.#owner, id, enabled)
    return this.#rendered(await this.#change('toggle', id, enabled === null ? {} : { enabled }, change))
  }

  async rotate(id: string, graceSeconds: number = DAY_SECONDS): Promise<ResultOf<'createKey'>> {
    const sent = { grace_seconds: graceSeconds }
    this.#validator.body(KEYS.rotateKey, sent)
    const key = generateApiKey()
    const oldUntil = new Date(Date.now() + graceSeconds * 1000)
    const fresh = { digest: digestApiKey(key, this.#hashSecret), masked: maskApiKey(key), oldUntil }
    const rotated = await this.#change('rotate', id, sent, (tx) => rotateOwnedKey(tx, this.#owner, id, fresh))
    return { ...this.#rendered(rotated), key }
  }

  async delete(id: string): Promise<void> {
    await this.#change('delete', id, {}, async (tx) => ((await deleteOwnedKey(tx, this.#owner, id)) ? true : null))
  }

  /**
   * Makes a change and writes its audit log row in one transaction. Rejects when the key does not exist, and when its enterprise is
   * deleted.
   */
  async #change<T>(
    verb: 'create' | 'toggle' | 'rotate' | 'delete',
    id: string,
    sent: object,
    work: (tx: Queryable) => Promise<T | null>,
  ): Promise<T> {
    const owner = this.#owner
    const isOfUser = owner.kind === 'user'
    return this.#database.transaction(async (tx) => {
      const enterprise = owner.kind === 'user' ? null : await findEnterprise(tx, owner.enterpriseId)
      if (enterprise?.status === 'deleted') throw enterpriseDeleted()
      const before = await findOwnedKey(tx, owner, id)
      const changed = await work(tx)
      if (changed === null) throw new Error(`there is no key ${id}`)
      const after = await findOwnedKey(tx, owner, id)
      await insertAuditEntry(tx, {
        ...BY_OPERATOR,
        operation: isOfUser ? `${verb}Key` : `${verb}EnterpriseKey`,
        path: `sluice keys ${verb}`,
        enterpriseId: enterprise?.id ?? null,
        targetId: id,
        sent: JSON.stringify(sent),
        changes: changedFields({
          before: before === null ? null : this.#rendered(before),
          after: after === null ? null : this.#rendered(after),
        }),
      })
      return changed
    })
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
    throw new Error(`there are several admins (${admins.map(({ phone }) => phone).join(', ')}): choose one with --user`)
  return { kind: 'user', userId: admin.id }
}
