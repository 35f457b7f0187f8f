import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { watchOperations } from './operations-seen.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a database of its own on the Postgres of this run. */
    postgresUrl: string
    /** An embedded database with the schema and nothing in it, to be copied: making one takes seconds. */
    pgliteTemplate: string
  }
}

/** Builds `dist` and starts Postgres once per run; a run that names only unit tests needs neither and gets neither. */
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

async function makeTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-template-'))
  const { openPglite } = await import('../../src/store/pglite-database.ts')
  const { migrate } = await import('../../src/store/migrate.ts')
  const database = await openPglite(join(directory, 'database'))
  await migrate(database)
  await database.close()
  return directory
}

function build(): void {
  const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const config = fileURLToPath(new URL('../../tsconfig.build.json', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', config], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed:\n${stdout}`)
}
