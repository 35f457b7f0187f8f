import type { Seal } from '../../shared/runtime/seal.ts'
import { insertDataKey, listDataKeys, lockCaptureTenant } from '../store/captures.ts'
import type { Database, Queryable } from '../store/database.ts'
import { newDataKey } from './sealed-body.ts'

/** Names the key under which the data keys of tenants are sealed. */
export const DATA_KEY_SEAL = 'data key of captured bodies'

export interface DataKey {
  readonly id: number
  readonly key: Buffer
}

/** The data keys of tenants. Each is sealed for its tenant. */
export class DataKeys {
  readonly #seal: Seal

  constructor(seal: Seal) {
    this.#seal = seal
  }

  /** Null: it was sealed with another secret. */
  open(tenant: string, sealed: Buffer): Buffer | null {
    return this.#seal.open(sealed, Buffer.from(tenant))
  }

  /** Finds the data key of a tenant, or makes one. Null when the tenant is deleted. */
  async of(database: Database, tenant: string): Promise<DataKey | null> {
    return (
      (await this.#find(database, tenant)) ??
      database.transaction(async (tx) => {
        if (!(await lockCaptureTenant(tx, tenant))) return null
        return (await this.#find(tx, tenant)) ?? this.#make(tx, tenant)
      })
    )
  }

  async #find(queryable: Queryable, tenant: string): Promise<DataKey | null> {
    for (const { id, sealed } of await listDataKeys(queryable, tenant)) {
      const key = this.open(tenant, sealed)
      if (key !== null) return { id, key }
    }
    return null
  }

  async #make(tx: Queryable, tenant: string): Promise<DataKey> {
    const key = newDataKey()
    return { id: await insertDataKey(tx, tenant, this.#seal.seal(key, Buffer.from(tenant))), key }
  }
}
