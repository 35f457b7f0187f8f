import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { BUILT_MODULES } from './built-module.ts'
import { watchOperations } from './operations-seen.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUILD = join(ROOT, 'src/build.mjs')
const BUNDLE: string = join(ROOT, 'src/bundle.mjs')
const TEMPLATE = join(ROOT, 'dist/control/store/pglite-template.tar.gz')

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the Postgres of this run. */
    postgresUrl: string
    /** Directory of an embedded database with the schema and no rows, to be copied. */
    pgliteTemplate: string
    /** The folder of `BUILT_MODULES`. */
    builtModules: string
  }
}

/** Builds `dist` when `src` has changed, and starts Postgres once per run. Does neither for a run that names only unit tests. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Projects inherit this setup and the values that the root provides.
  if (!project.isRootProject()) return undefined
  const named = process.argv.slice(2).filter((argument) => argument.includes('test/'))
  if (named.length > 0 && named.every((argument) => argument.includes('test/unit'))) return undefined

  const isOfConsole = named.length === 0 || named.some((argument) => argument.includes('test/console'))
  build(isOfConsole ? ['--console'] : [])
  const modules = await buildModules()
  project.provide('builtModules', modules)
  const { startPostgres } = await import('./postgres.ts')
  const postgres = await startPostgres()
  const postgresUrl = await postgres.createDatabase()
  const { makeSchemaTemplate } = await import('./test-database.ts')
  await makeSchemaTemplate(postgresUrl)
  project.provide('postgresUrl', postgresUrl)
  const template = await makeTemplate()
  project.provide('pgliteTemplate', template)
  const tellOperations = watchOperations(project)
  return async () => {
    tellOperations()
    for (const made of [template, modules]) rmSync(made, { recursive: true, force: true })
    await postgres.stop()
  }
}

/** Copies the template that the build has made. */
async function makeTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-template-'))
  const { openPglite } = await import('../../src/control/store/pglite-database.ts')
  const database = await openPglite(join(directory, 'database'), { template: TEMPLATE })
  await database.close()
  return directory
}

async function buildModules(): Promise<string> {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(ROOT, '.tmp/modules-'))
  const { bundle } = (await import(BUNDLE)) as {
    bundle(modules: readonly string[], directory: string): Promise<void>
  }
  await bundle(BUILT_MODULES, directory)
  return directory
}

function build(options: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BUILD, ...options], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed:\n${stdout}\n${stderr}`)
}
