import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

// Each run of the rules starts a program that reads TypeScript: seconds, on a busy machine many.
vi.setConfig({ testTimeout: 120_000 })

/** Runs the import rules on a tree of sources; `from → to` of what they object to, by rule. */
function violations(sources: Readonly<Record<string, string>>): Map<string, string[]> {
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(root, '.tmp', 'planted-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const name of ['package.json', 'tsconfig.json']) copyFileSync(join(root, name), join(directory, name))
  for (const [name, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(directory, 'src', name)), { recursive: true })
    writeFileSync(join(directory, 'src', name), `${text}\nexport {}\n`)
  }

  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const args = [program, '--config', join(root, '.dependency-cruiser.cjs'), '--output-type', 'json', 'src']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8', maxBuffer: 1e8 })
  if (stdout === '') throw new Error(stderr)
  const { summary } = JSON.parse(stdout) as {
    summary: { violations: { rule: { name: string }; from: string; to: string }[] }
  }
  const byRule = new Map<string, string[]>()
  for (const { rule, from, to } of summary.violations) {
    byRule.set(rule.name, [...(byRule.get(rule.name) ?? []), `${from} → ${to}`])
  }
  return byRule
}

/** What each folder may import, as a table of its own: the rules are checked against it. */
const PHASES = ['auth', 'limits', 'validation', 'scheduling', 'dialects', 'upstream', 'accounting']
const PHASE = ['core', 'api', 'wire', 'telemetry']
const TABLE: Readonly<Record<string, readonly string[]>> = {
  api: [],
  wire: ['core'],
  core: ['api'],
  config: ['core'],
  telemetry: ['core'],
  auth: PHASE,
  limits: PHASE,
  validation: PHASE,
  scheduling: PHASE,
  dialects: PHASE,
  upstream: PHASE,
  accounting: PHASE,
  gateway: [...PHASES, 'core', 'api', 'wire', 'telemetry'],
  server: PHASE,
  link: PHASE,
  store: ['core', 'api', 'config', 'telemetry'],
  leases: ['core', 'wire', 'telemetry', 'store', 'workers'],
  ledger: ['core', 'store'],
  settlement: ['core', 'wire', 'telemetry', 'store', 'workers', 'ledger'],
  management: ['core', 'api', 'config', 'telemetry', 'store', 'ledger', 'validation'],
  mcp: ['core', 'api', 'config', 'telemetry', 'store'],
  simulator: ['core', 'api', 'wire', 'server', 'dialects'],
  client: ['api'],
  console: ['api', 'client'],
  supervisor: ['core', 'config', 'telemetry', 'store'],
  cli: [
    'api',
    'client',
    'config',
    'core',
    'dialects',
    'gateway',
    'ledger',
    'management',
    'store',
    'supervisor',
    'telemetry',
    'validation',
  ],
  control: ['core', 'api', 'config', 'telemetry', 'store', 'management', 'supervisor'],
}
const FOLDERS = [...Object.keys(TABLE), 'workers']
const leaf = (folder: string): string => (folder === 'wire' ? 'wire/sse.ts' : `${folder}/leaf.ts`)

it('objects to every import between folders that the table does not list, and to no other', () => {
  const sources: Record<string, string> = {}
  const expected: string[] = []
  for (const folder of FOLDERS) sources[leaf(folder)] = 'export type Leaf = string'
  for (const [folder, allowed] of Object.entries(TABLE)) {
    const others = FOLDERS.filter((other) => other !== folder)
    const imports = others.map((other) => `import type { Leaf as ${other}Leaf } from '../${leaf(other)}'`)
    sources[`${folder}/all.ts`] = imports.join('\n')
    expected.push(
      ...others.filter((other) => !allowed.includes(other)).map((other) => `src/${folder}/all.ts → src/${leaf(other)}`),
    )
  }

  const found = [...violations(sources)].flatMap(([rule, pairs]) => (rule.endsWith('-imports') ? pairs : []))
  expect(found.sort()).toEqual(expected.sort())
  expect(expected.length).toBeGreaterThan(300)
})

it('lets a worker task import what the pool may not', () => {
  const imports = ['core', 'wire', 'telemetry', 'api', 'validation', 'dialects']
    .map((folder) => `import '../../${leaf(folder)}'`)
    .concat("import '../../settlement/pricing.ts'")
    .join('\n')
  const leaves = Object.fromEntries(FOLDERS.map((folder) => [leaf(folder), '']))
  const found = violations({
    ...leaves,
    'settlement/pricing.ts': '',
    'settlement/settler.ts': "import '../workers/pool.ts'\nimport '../workers/tasks/validate.ts'",
    'workers/tasks/validate.ts': `${imports}\nimport '../../settlement/settler.ts'\nimport '../../store/leaf.ts'`,
    'workers/pool.ts': "import '../core/leaf.ts'\nimport '../validation/leaf.ts'",
    'workers/protocol.ts': "import type { Task } from '../validation/leaf.ts'",
  })

  expect(found.get('workers-pool-imports')).toEqual(['src/workers/pool.ts → src/validation/leaf.ts'])
  expect(found.get('workers-take-only-pricing-of-settlement')).toEqual([
    'src/workers/tasks/validate.ts → src/settlement/settler.ts',
  ])
  expect(found.get('workers-imports')).toEqual(['src/workers/tasks/validate.ts → src/store/leaf.ts'])
  expect(found.get('settlement-and-leases-take-only-the-pool')).toEqual([
    'src/settlement/settler.ts → src/workers/tasks/validate.ts',
  ])
})

it('lets each library in by one door alone', () => {
  const doors: ReadonlyArray<readonly [name: string, door: string]> = [
    ['uWebSockets.js', 'server/app.ts'],
    ['piscina', 'workers/pool.ts'],
    ['pg', 'store/postgres.ts'],
    ['@electric-sql/pglite', 'store/pglite.ts'],
    ['ioredis', 'store/redis.ts'],
    ['ajv', 'validation/schema.ts'],
    ['jose', 'management/tokens.ts'],
    ['pino', 'telemetry/logger.ts'],
    ['msgpackr', 'wire/frames.ts'],
    ['yaml', 'config/document.ts'],
    ['typebox', 'api/chat.ts'],
    ['typebox', 'config/schema.ts'],
  ]
  const all = [...new Set(doors.map(([name]) => `import '${name}'`))].join('\n')
  const sources: Record<string, string> = {
    'gateway/sneaky.ts': all,
    'main.ts': all,
    'validation/a.ts': all,
    'management/a.ts': all,
  }
  for (const [name, door] of doors) sources[door] = `import '${name}'`
  const found = violations(sources)

  for (const [name] of doors) {
    const rule = `door-${name.replace(/[^A-Za-z0-9]+/g, '-')}`
    const objected = (found.get(rule) ?? []).map((pair) => pair.split(' → ')[0])
    expect(objected.sort(), name).toEqual(
      ['gateway/sneaky.ts', 'main.ts', 'management/a.ts', 'validation/a.ts'].map((file) => `src/${file}`),
    )
  }
})

it('lets programs import everything and nobody import them', () => {
  const leaves = Object.fromEntries(FOLDERS.map((folder) => [leaf(folder), '']))
  const all = FOLDERS.map((folder) => `import './${leaf(folder)}'`).join('\n')
  const clean = violations({ ...leaves, 'main.ts': all, 'front.ts': all, 'control.ts': all })
  expect([...clean]).toEqual([])

  const found = violations({
    'main.ts': "import './front.ts'",
    'front.ts': '',
    'gateway/a.ts': "import '../control.ts'",
    'control.ts': '',
  })
  expect(found.get('roots-are-not-imported')?.sort()).toEqual([
    'src/gateway/a.ts → src/control.ts',
    'src/main.ts → src/front.ts',
  ])
})

it('objects to cycles, orphans, new folders, tests, development packages and what is not there', () => {
  const found = violations({
    'core/a.ts': "import type { B } from './b.ts'",
    'core/b.ts': "import './a.ts'",
    'core/alone.ts': '',
    'utils/a.ts': "import '../core/a.ts'",
    'gateway/a.ts': "import 'vitest'\nimport 'left-pad'\nimport './nowhere.ts'",
    'core/value.ts': "import '../api/a.ts'",
    'api/a.ts': '',
    'wire/value.ts': "import '../core/a.ts'",
  })

  expect([...found.keys()]).toEqual(
    expect.arrayContaining([
      'no-cycles',
      'no-orphans',
      'known-folders',
      'no-development-dependencies',
      'nothing-unresolvable',
      'core-takes-only-types-of-api',
      'wire-takes-only-types-of-core',
    ]),
  )
  expect(found.get('no-orphans')).toEqual(['src/core/alone.ts → src/core/alone.ts'])
})
