import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { enterpriseKeyHandlers } from '../../../src/control/management/enterprise-key-handlers.ts'
import type { Handlers } from '../../../src/control/management/call.ts'
import { ModelBudgets } from '../../../src/control/management/model-budgets.ts'
import type { UpstreamParts } from '../../../src/control/management/upstream-handlers.ts'
import { userHandlers } from '../../../src/control/management/user-handlers.ts'
import type { Database } from '../../../src/control/store/database.ts'
import { deleteDepartment, insertDepartment } from '../../../src/control/store/departments.ts'
import { migrate } from '../../../src/control/store/migrate.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { TransactionScope } from '../../../src/control/store/transaction-scope.ts'
import { insertUser, listAdmins } from '../../../src/control/store/users.ts'
import { callOf } from '../../support/call-of.ts'
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
/** A statement that would wait for a lock of another transaction. */
const WAITS = { sqlState: '55P03' }

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
    for (const id of ['user_ada', 'user_eve']) {
      const user = { id, phone: null, name: id, passwordHash: null, role: 'admin', status: 'active' } as const
      await insertUser(database, user)
    }
  })

  /** Runs a change in a transaction that does not wait for those that are open. */
  const beside = <T>(work: () => Promise<T>): Promise<T> =>
    second.run(async () => {
      await second.script(`SET LOCAL lock_timeout = '100ms'`)
      return work()
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

  it.each<[string, (of: Users, admin: string, by: string) => Promise<unknown>]>([
    ['demote', (of, admin, by) => of.adminUpdateUser(change(admin, by, { role: 'user' }))],
    ['disable', (of, admin, by) => of.adminUpdateUser(change(admin, by, { status: 'disabled' }))],
    ['delete', (of, admin, by) => of.adminDeleteUser(callOf<'adminDeleteUser'>(change(admin, by, null)))],
  ])('leave an admin when two %s each other', async (_, remove) => {
    const [one, other] = [userHandlers(first, () => undefined), userHandlers(second, () => undefined)]
    await first.run(async () => {
      await remove(one, 'user_eve', 'user_ada')
      await expect(beside(() => remove(other, 'user_ada', 'user_eve'))).rejects.toMatchObject(WAITS)
    })
    await expect(beside(() => remove(other, 'user_ada', 'user_eve'))).rejects.toMatchObject({ code: 'CONFLICT' })
    expect((await listAdmins(database)).map(({ id }) => id)).toEqual(['user_ada'])
  })

  /** Counts the statements that wait for a lock. */
  const waiting = async (): Promise<number | undefined> => {
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return row?.count
  }
})

type Users = Pick<Handlers, 'adminUpdateUser' | 'adminDeleteUser'>

function change(id: string, by: string, body: object | null): Parameters<Users['adminUpdateUser']>[0] {
  return callOf<'adminUpdateUser'>({ params: { id }, body, caller: { userId: by }, afterCommit: () => undefined })
}
