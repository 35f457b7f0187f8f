import { afterAll, beforeAll, describe } from 'vitest'
import type { Database } from '../../../src/control/store/database.ts'
import { openPostgres } from '../../../src/control/store/postgres-database.ts'
import { alertsContract } from '../../contract/alerts.ts'
import { capturesContract } from '../../contract/captures.ts'
import { databaseContract } from '../../contract/database.ts'
import { ledgerContract } from '../../contract/ledger.ts'
import { settlerContract } from '../../contract/settler.ts'
import { signInContract } from '../../contract/sign-in.ts'
import { storeContract } from '../../contract/store.ts'
import { videoJobsContract } from '../../contract/video-jobs.ts'
import { dose } from '../../support/dose.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres.ts'

const RECORDS = dose('SLUICE_TEST_RECORDS', { short: 2_000, long: 50_000 })

let postgres: TestPostgres

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

describe('Postgres', () => {
  databaseContract(open)
  storeContract(open)
  signInContract(open)
  videoJobsContract(open)
  ledgerContract(open)
  alertsContract(open)
  capturesContract(open)
  settlerContract(open, RECORDS)
})

async function open(): Promise<Database> {
  return openPostgres({ url: await postgres.createDatabase() })
}
