import { describe } from 'vitest'
import { openMemoryPglite } from '../../../src/control/store/pglite-database.ts'
import { alertsContract } from '../../contract/alerts.ts'
import { capturesContract } from '../../contract/captures.ts'
import { databaseContract } from '../../contract/database.ts'
import { ledgerContract } from '../../contract/ledger.ts'
import { settlerContract } from '../../contract/settler.ts'
import { signInContract } from '../../contract/sign-in.ts'
import { storeContract } from '../../contract/store.ts'
import { videoJobsContract } from '../../contract/video-jobs.ts'
import { oneDatabase } from '../../support/one-database.ts'
import { dose } from '../../support/dose.ts'

const RECORDS = dose('SLUICE_TEST_RECORDS', { short: 2_000, long: 50_000 })

describe('PGlite', () => {
  const open = oneDatabase(openMemoryPglite)

  databaseContract(open)
  storeContract(open)
  signInContract(open)
  videoJobsContract(open)
  ledgerContract(open)
  alertsContract(open)
  capturesContract(open)
  settlerContract(open, RECORDS)
})
