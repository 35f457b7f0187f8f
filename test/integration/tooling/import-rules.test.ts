import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Sources that break rules, and others that do not. */
const PLANTED: Readonly<Record<string, string>> = {
  'main.ts': "import './front/main.ts'",
  'front/main.ts':
    "import '../shared/core/clean.ts'\nimport './workers/pool.ts'\nimport '../control/settlement/rows.ts'",
  'control/main.ts': "import './settlement/settler.ts'\nimport '../front/gateway/upstream-probes.ts'",
  'shared/api/types.ts': '',
  'shared/core/clean.ts': "import type { A } from '../api/types.ts'",
  'shared/core/value.ts': "import '../api/types.ts'",
  'shared/core/round.ts': "import type { B } from './about.ts'",
  'shared/core/about.ts': "import './round.ts'",
  'shared/core/alone.ts': '',
  'shared/link/both.ts': "import '../core/clean.ts'\nimport '../../journal/frames.ts'",
  'journal/frames.ts': "import '../shared/core/clean.ts'",
  'front/auth/phase.ts': "import '../../shared/core/clean.ts'\nimport '../limits/phase.ts'",
  'front/limits/phase.ts': "import '../../shared/core/clean.ts'",
  'front/validation/phase.ts': "import '../../shared/core/clean.ts'",
  'front/server/uws.ts': '',
  'front/server/http.ts': "import './uws.ts'",
  'front/gateway/sneaky.ts': "import 'pg'\nimport 'vitest'\nimport './nowhere.ts'\nimport '../auth/phase.ts'",
  'front/gateway/upstream-probes.ts': "import '../../shared/core/clean.ts'",
  'front/gateway/serve.ts': "import '../videos/jobs.ts'",
  'front/gateway/classify.ts': '',
  'front/videos/jobs.ts': "import '../gateway/classify.ts'\nimport '../gateway/upstream-probes.ts'",
  'front/utils/all.ts': "import '../../shared/core/clean.ts'",
  'front/tokens/tokenizer.ts': '',
  'front/workers/pool.ts': "import '../../shared/core/clean.ts'\nimport '../validation/phase.ts'",
  'front/workers/count-task.ts': "import '../validation/phase.ts'\nimport '../tokens/tokenizer.ts'",
  'front/workers/price-task.ts': "import '../tokens/tokenizer.ts'\nimport '../../control/settlement/rows.ts'",
  'control/settlement/rows.ts': '',
  'control/settlement/settler.ts': "import './rows.ts'\nimport '../../front/workers/pool.ts'",
  'control/store/pool.ts': "import 'pg'",
  'supervisor/ports.ts': "import '../front/server/uws.ts'\nimport '../front/server/http.ts'",
}

/** Every import that a rule is to object to; no other may be. */
const BROKEN = [
  ['front/auth-imports', 'front/auth/phase.ts', 'front/limits/phase.ts'],
  ['shared/link-imports', 'shared/link/both.ts', 'journal/frames.ts'],
  ['front/workers-imports', 'front/workers/price-task.ts', 'control/settlement/rows.ts'],
  ['control/settlement-imports', 'control/settlement/settler.ts', 'front/workers/pool.ts'],
  ['fronts-take-nothing-of-control', 'front/main.ts', 'control/settlement/rows.ts'],
  ['fronts-take-nothing-of-control', 'front/workers/price-task.ts', 'control/settlement/rows.ts'],
  ['control-tries-upstreams-only', 'control/settlement/settler.ts', 'front/workers/pool.ts'],
  ['supervisor-takes-only-the-binding', 'supervisor/ports.ts', 'front/server/http.ts'],
  ['videos-take-only-calls-of-the-gateway', 'front/videos/jobs.ts', 'front/gateway/upstream-probes.ts'],
  ['door-pg', 'front/gateway/sneaky.ts', 'pg'],
  ['no-cycles', 'shared/core/about.ts', 'shared/core/round.ts'],
  ['no-orphans', 'shared/core/alone.ts', 'shared/core/alone.ts'],
  ['roots-are-not-imported', 'main.ts', 'front/main.ts'],
  ['known-rooms', 'front/utils/all.ts', 'shared/core/clean.ts'],
  ['core-takes-only-types-of-api', 'shared/core/value.ts', 'shared/api/types.ts'],
  ['journal-format-takes-only-types-of-core', 'journal/frames.ts', 'shared/core/clean.ts'],
  ['workers-pool-imports', 'front/workers/pool.ts', 'front/validation/phase.ts'],
  ['tokenizer-in-workers-only', 'front/workers/price-task.ts', 'front/tokens/tokenizer.ts'],
  ['no-development-dependencies', 'front/gateway/sneaky.ts', 'vitest'],
  ['nothing-unresolvable', 'front/gateway/sneaky.ts', 'nowhere.ts'],
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
