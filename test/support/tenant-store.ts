import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { loadOrCreateSecrets } from '../../src/shared/config/secrets.ts'
import { digestApiKey, generateApiKey } from '../../src/shared/core/api-key.ts'
import type { EntryKey } from '../../src/shared/core/snapshot.ts'
import type { Database } from '../../src/control/store/database.ts'
import { insertEntryKey } from '../../src/control/store/entry-keys.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { openPglite } from '../../src/control/store/pglite-database.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'
import { entryKey } from './entry-key.ts'
import type { GatewayOptions } from './gateway.ts'
import { createTestDatabase } from './test-database.ts'

const SLUICE = fileURLToPath(new URL('../../dist/cli/sluice.js', import.meta.url))

/** Creates an entry key and returns its secret. */
export type IssueKey = (members: Partial<EntryKey>) => Promise<string>

/** A store of the vitest project's kind, which a test fills before a gateway starts and reads after its end. */
export class TenantStore {
  readonly #dataDir: string
  /** Null with the embedded database. */
  readonly url: string | null

  private constructor(dataDir: string, url: string | null) {
    this.#dataDir = dataDir
    this.url = url
  }

  static async make(fill: (database: Database, issue: IssueKey) => Promise<void>): Promise<TenantStore> {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-tenants-'))
    const isPostgres = inject('database') === 'postgres'
    if (!isPostgres) cpSync(inject('pgliteTemplate'), dataDir, { recursive: true })
    const store = new TenantStore(dataDir, isPostgres ? await createTestDatabase(inject('postgresUrl')) : null)
    await store.use(async (database) => {
      await migrate(database)
      const { keyHash } = loadOrCreateSecrets(dataDir, {})
      await fill(database, async (members) => {
        const key = generateApiKey()
        const digest = digestApiKey(key, keyHash)
        await insertEntryKey(database, entryKey({ ...members, id: `key_${digest.slice(0, 24)}`, digest }))
        return key
      })
    })
    return store
  }

  get options(): Pick<GatewayOptions, 'dataDir' | 'database'> {
    return { dataDir: this.#dataDir, ...(this.url === null ? {} : { database: { url: this.url } }) }
  }

  /** Opens the database for `work`. With the embedded database, no gateway may run. */
  async use<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const database = await this.#open()
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }

  /** Runs `sluice reconcile` like an operator. */
  reconcile(): { code: number | null; output: string } {
    const { PATH = '', HOME = '' } = process.env
    const { status, stdout, stderr } = spawnSync(process.execPath, [SLUICE, 'reconcile'], {
      env: { PATH, HOME, SLUICE_DATA_DIR: this.#dataDir, ...(this.url === null ? {} : { DATABASE_URL: this.url }) },
      encoding: 'utf8',
      cwd: this.#dataDir,
    })
    return { code: status, output: stdout + stderr }
  }

  remove(): void {
    rmSync(this.#dataDir, { recursive: true, force: true })
  }

  #open(): Promise<Database> {
    if (this.url === null) return openPglite(join(this.#dataDir, 'database'))
    return Promise.resolve(
      openPostgres({
        url: this.url,
        maxConnections: 2,
        statementTimeoutMs: 60_000,
        onConnectionError: () => undefined,
      }),
    )
  }
}
