import { describe } from 'vitest'
import { openMemoryPglite } from '../../../src/store/pglite-database.ts'
import { databaseContract } from '../../contract/database.ts'
import { ledgerContract } from '../../contract/ledger.ts'
import { settlerContract } from '../../contract/settler.ts'
import { storeContract } from '../../contract/store.ts'
import { videoJobsContract } from '../../contract/video-jobs.ts'

describe('PGlite', () => {
  databaseContract(openMemoryPglite)
  storeContract(openMemoryPglite)
  videoJobsContract(openMemoryPglite)
  ledgerContract(openMemoryPglite)
  settlerContract(openMemoryPglite)
})
