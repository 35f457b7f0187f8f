import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadOrCreateSecrets } from '../../../src/shared/config/secrets.ts'
import type { Config } from '../../../src/shared/config/shape.ts'
import { controlDirectory, lockDataDirectory } from '../../../src/shared/runtime/data-directory.ts'
import { readStoredUpstreams } from '../../../src/cli/doctor/stored-upstreams.ts'
import { checkDatabase } from '../../../src/cli/doctor/stores.ts'
import { read } from '../config/load.ts'

let dataDir: string
let config: Config

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
  config = { ...read({}), dataDir }
  mkdirSync(join(dataDir, 'database'))
  loadOrCreateSecrets(dataDir, {})
})
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

it.each([
  ['a gateway that runs', (directory: string) => directory],
  ['the control process of a gateway that ends', controlDirectory],
])('leaves the embedded database to %s', async (_, lockedIn) => {
  const lock = await lockDataDirectory(lockedIn(dataDir))
  const reports = [await checkDatabase(config), await readStoredUpstreams(config)]
  await lock.release()

  expect(reports.flatMap(({ findings }) => findings)).toMatchObject([
    { check: 'database', status: 'skipped', says: `process ${process.pid} has it open` },
    { check: 'stored upstreams', status: 'skipped', says: expect.stringContaining('has the database open') as string },
  ])
  expect(readdirSync(join(dataDir, 'database'))).toEqual([])
})
