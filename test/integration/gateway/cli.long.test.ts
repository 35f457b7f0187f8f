import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { expectAdmin, expectKeysOnDatabase } from '../../support/cli-commands.ts'
import type { Run } from '../../support/cli-commands.ts'
import { copyMadeDatabase } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'

let cwd: string
const run: Run = (args, more = {}) => sluice(args, { cwd, ...more })

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
  copyMadeDatabase(join(cwd, 'data'))
})

afterEach(() => {
  rmSync(cwd, { recursive: true, force: true })
})

describe('on the embedded database', () => {
  it('makes an admin, with the password from where nobody else sees it', { timeout: 180_000 }, async () => {
    await expectAdmin(run)
  })

  it('keeps keys', { timeout: 180_000 }, async () => {
    await expectKeysOnDatabase(run)
  })
})
