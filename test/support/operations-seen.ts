import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { OPERATIONS } from '../../src/shared/api/operations/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A directory where tests note down which operations they have seen do or refuse something. */
    operationsSeen: string
  }
}

const FOLDER = fileURLToPath(new URL('../integration/management', import.meta.url))

/** Lets tests note down what they see, and gives what tells, at the end, of which operations none of them has seen enough. */
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

/** Whether every file of management tests ran, and no test of them was left out by name. */
function ranWhole({ vitest }: TestProject, projectName: string): boolean {
  if (vitest.config.testNamePattern !== undefined) return false
  const ran = new Set(
    vitest.state.getFiles().flatMap(({ filepath, projectName: of }) => (of === projectName ? [filepath] : [])),
  )
  return readdirSync(FOLDER).every((file) => !file.endsWith('.test.ts') || ran.has(join(FOLDER, file)))
}
