import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { OPERATIONS } from '../../src/shared/api/operations/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A directory in which tests record the successes and failures of operations that they have seen. */
    operationsSeen: string
  }
}

const FOLDER = fileURLToPath(new URL('../integration/management', import.meta.url))

/** Provides the directory for the records of tests. The returned function reports operations without a success or a failure. */
export function watchOperations(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-operations-'))
  project.provide('operationsSeen', directory)
  return () => {
    const notes = new Set(
      readdirSync(directory).flatMap((file) => readFileSync(join(directory, file), 'utf8').split('\n')),
    )
    rmSync(directory, { recursive: true, force: true })
    for (const database of ['pglite', 'postgres']) {
      if (!ranWhole(project, database)) continue
      const missing = Object.keys(OPERATIONS).flatMap((name) =>
        ['success', 'failure']
          .filter((what) => !notes.has(`${database} ${name} ${what}`))
          .map((what) => `${name} (${what})`),
      )
      if (missing.length === 0) continue
      console.error(`no test of management on ${database} has seen these: ${missing.join(', ')}`)
      process.exitCode = 1
    }
  }
}

/** Whether every file of management tests ran, and no filter by name excluded a test. */
function ranWhole({ vitest }: TestProject, projectName: string): boolean {
  if (vitest.config.testNamePattern !== undefined) return false
  const ran = new Set(
    vitest.state.getFiles().flatMap(({ filepath, projectName: of }) => (of === projectName ? [filepath] : [])),
  )
  return readdirSync(FOLDER).every((file) => !file.endsWith('.test.ts') || ran.has(join(FOLDER, file)))
}
