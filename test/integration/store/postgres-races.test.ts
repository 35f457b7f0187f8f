import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { enterpriseKeyHandlers } from '../../../src/control/management/enterprise-key-handlers.ts'
import type { Handlers } from '../../../src/control/management/call.ts'
import { ModelBudgets } from '../../../src/control/management/model-budgets.ts'
import type { UpstreamParts } from '../../../src/control/management/upstream-handlers.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { deleteDepartment, insertDepartment } from '../../../src/control/store/departments.ts'
import { migrate } from '../../../src/control/store/migrate.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { TransactionScope } from '../../../src/control/store/transaction-scope.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres.ts'

const NO_LIMITS = {
  monthlyBudget: null,
  monthlyTokens: null,
  modelBudgets: null,
  rpm: null,
  tpm: null,
  maxConcurrency: null,
}

describe('changes at the same time', () => {
  let postgres: TestPostgres
  let database: Database
  let first: TransactionScope
  let second: TransactionScope

  beforeAll(async () => {
    postgres = await startPostgres()
    database = openPostgres({ url: await postgres.createDatabase() })
    await migrate(database)
    first = new TransactionScope(database)
    second = new TransactionScope(database)
  })
  afterAll(async () => {
    await database.close()
    await postgres.stop()
  })
  beforeEach(async () => {
    await database.script('TRUNCATE users, enterprises, entry_keys CASCADE')
    await database.script(`INSERT INTO enterprises (id, name) VALUES ('ent_a', 'Acme')`)
  })

  it('do not delete the department of a key that is being made', async () => {
    await insertDepartment(database, 'ent_a', { id: 'dep_a', name: 'Research', parentId: null, ...NO_LIMITS })
    const parts = { keyHash: Buffer.alloc(32), mayCapture: false }
    const keys = enterpriseKeyHandlers(first, parts, new ModelBudgets({} as UpstreamParts))
    let deletion: Promise<string> = Promise.resolve('')
    await first.run(async () => {
      await keys.createEnterpriseKey(
        callOf<'createEnterpriseKey'>({ params: { id: 'ent_a' }, body: { name: 'k', department_id: 'dep_a' } }),
      )
      deletion = second.run(() => deleteDepartment(second, 'ent_a', 'dep_a'))
      await expect.poll(waiting).toBe(1)
    })
    expect(await deletion).toBe('used')
  })

  /** Counts the statements that wait for a lock. */
  const waiting = async (): Promise<number | undefined> => {
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return row?.count
  }
})

/** A call with those members that its handler uses. */
function callOf<Name extends keyof Handlers>(call: object): Parameters<Handlers[Name]>[0] {
  return call as unknown as Parameters<Handlers[Name]>[0]
}
