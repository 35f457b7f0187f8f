import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Of a database of its own on the Postgres of this run. */
    postgresUrl: string
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
  return () => postgres.stop()
}

function build(): void {
  const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const config = fileURLToPath(new URL('../../tsconfig.build.json', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', config], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed:\n${stdout}`)
}
