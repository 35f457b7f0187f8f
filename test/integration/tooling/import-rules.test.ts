import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Sources that break rules, and others that do not. */
const PLANTED: Readonly<Record<string, string>> = {
  'main.ts': "import './front.ts'",
  'front.ts': "import './core/clean.ts'\nimport './workers/pool.ts'\nimport './settlement/settler.ts'",
  'api/types.ts': '',
  'core/clean.ts': "import type { A } from '../api/types.ts'",
  'core/value.ts': "import '../api/types.ts'",
  'core/round.ts': "import type { B } from './about.ts'",
  'core/about.ts': "import './round.ts'",
  'core/alone.ts': '',
  'wire/value.ts': "import '../core/clean.ts'",
  'auth/phase.ts': "import '../core/clean.ts'\nimport '../limits/phase.ts'",
  'limits/phase.ts': "import '../core/clean.ts'",
  'validation/phase.ts': "import '../core/clean.ts'",
  'store/pool.ts': "import 'pg'",
  'gateway/sneaky.ts': "import 'pg'\nimport 'vitest'\nimport './nowhere.ts'\nimport '../auth/phase.ts'",
  'utils/all.ts': "import '../core/clean.ts'",
  'workers/pool.ts': "import '../core/clean.ts'\nimport '../validation/phase.ts'",
  'workers/tasks/price.ts':
    "import '../../validation/phase.ts'\nimport '../../settlement/pricing.ts'\nimport '../../settlement/rows.ts'",
  'settlement/pricing.ts': '',
  'settlement/rows.ts': '',
  'settlement/settler.ts': "import '../workers/pool.ts'\nimport '../workers/tasks/price.ts'",
}

/** Every import that a rule is to object to; no other may be. */
const BROKEN = [
  ['auth-imports', 'auth/phase.ts', 'limits/phase.ts'],
  ['door-pg', 'gateway/sneaky.ts', 'pg'],
  ['no-cycles', 'core/about.ts', 'core/round.ts'],
  ['no-orphans', 'core/alone.ts', 'core/alone.ts'],
  ['roots-are-not-imported', 'main.ts', 'front.ts'],
  ['known-folders', 'utils/all.ts', 'core/clean.ts'],
  ['core-takes-only-types-of-api', 'core/value.ts', 'api/types.ts'],
  ['wire-takes-only-types-of-core', 'wire/value.ts', 'core/clean.ts'],
  ['workers-pool-imports', 'workers/pool.ts', 'validation/phase.ts'],
  ['workers-take-only-pricing-of-settlement', 'workers/tasks/price.ts', 'settlement/rows.ts'],
  ['settlement-and-leases-take-only-the-pool', 'settlement/settler.ts', 'workers/tasks/price.ts'],
  ['no-development-dependencies', 'gateway/sneaky.ts', 'vitest'],
  ['nothing-unresolvable', 'gateway/sneaky.ts', 'nowhere.ts'],
] as const

let objections: string[]

const shown = (rule: string, from: string, to: string): string => `${rule}: ${from} → ${to}`

beforeAll(() => {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(ROOT, '.tmp', 'planted-'))
  try {
    for (const name of ['package.json', 'tsconfig.json']) copyFileSync(join(ROOT, name), join(directory, name))
    for (const [name, text] of Object.entries(PLANTED)) {
      mkdirSync(dirname(join(directory, 'src', name)), { recursive: true })
      writeFileSync(join(directory, 'src', name), `${text}\nexport {}\n`)
    }
    objections = objectionsIn(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}, 120_000)

/** What the rules say of a tree of sources. */
function objectionsIn(directory: string): string[] {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const args = [program, '--config', join(ROOT, '.dependency-cruiser.cjs'), '--output-type', 'json', 'src']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8', maxBuffer: 1e8 })
  if (stdout === '') throw new Error(stderr)
  const { summary } = JSON.parse(stdout) as {
    summary: { violations: Array<{ rule: { name: string }; from: string; to: string }> }
  }
  return summary.violations.map(({ rule, from, to }) => shown(rule.name, withoutFolder(from), withoutFolder(to)))
}

/** `src/a.ts` and `./a.ts` are `a.ts`; a package is its name, wherever it is installed. */
function withoutFolder(path: string): string {
  return (/node_modules\/(?:@types\/)?([^/]+)/.exec(path)?.[1] ?? path).replace(/^(src|[.])\//, '')
}

it.each(BROKEN)('%s: %s may not import %s', (rule, from, to) => {
  expect(objections).toContain(shown(rule, from, to))
})

it('has no objection to any other import', () => {
  const expected = new Set(BROKEN.map(([rule, from, to]) => shown(rule, from, to)))
  expect([...new Set(objections)].filter((objection) => !expected.has(objection))).toEqual([])
})
