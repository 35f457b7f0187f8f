import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { watchOperations } from './operations-seen.ts'

const BUILD = fileURLToPath(new URL('../../src/build.mjs', import.meta.url))
const TEMPLATE = fileURLToPath(new URL('../../dist/control/store/pglite-template.tar.gz', import.meta.url))

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a database of its own on the Postgres of this run. */
    postgresUrl: string
    /** An embedded database with the schema and nothing in it, to be copied. */
    pgliteTemplate: string
  }
}

/** Builds `dist` where `src` has changed, and starts Postgres once per run; a run that names only unit tests needs neither and gets neither. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Projects inherit this setup from the root, and what the root provides.
  if (!project.isRootProject()) return undefined
  const named = process.argv.slice(2).filter((argument) => argument.includes('test/'))
  if (named.length > 0 && named.every((argument) => argument.includes('test/unit'))) return undefined

  build()
  const { startPostgres } = await import('./postgres.ts')
  const postgres = await startPostgres()
  project.provide('postgresUrl', await postgres.createDatabase())
  const template = await makeTemplate()
  project.provide('pgliteTemplate', template)
  const tellOperations = watchOperations(project)
  return async () => {
    tellOperations()
    rmSync(template, { recursive: true, force: true })
    await postgres.stop()
  }
}

/** A copy of the one that the build has made. */
async function makeTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-template-'))
  const { openPglite } = await import('../../src/control/store/pglite-database.ts')
  const database = await openPglite(join(directory, 'database'), { template: TEMPLATE })
  await database.close()
  return directory
}

function build(): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BUILD], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed:\n${stdout}\n${stderr}`)
}
