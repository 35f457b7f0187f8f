// Who may import whom: the table of the style guide as rules. Types count as imports.

const PHASES = ['auth', 'limits', 'validation', 'scheduling', 'dialects', 'upstream', 'accounting']

/** Folder (or file) → folders it may import besides itself. What is not listed here may import nothing of ours. */
const MAY_IMPORT = {
  api: [],
  // Types of core only, see below: a journal frame is made of core's records.
  wire: ['core'],
  core: ['api'],
  config: ['core'],
  telemetry: ['core'],
  ...Object.fromEntries(PHASES.map((phase) => [phase, ['core', 'api', 'wire', 'telemetry']])),
  // What tokens are made of: tables for the gateway, the tokenizer for the workers.
  tokens: ['core'],
  // The relay cuts streams into events itself.
  overload: ['core', 'telemetry'],
  gateway: [...PHASES, 'overload', 'tokens', 'core', 'api', 'wire', 'telemetry'],
  server: ['core', 'api', 'wire', 'telemetry'],
  link: ['core', 'api', 'wire', 'telemetry'],
  // The pool and its tasks are told apart below.
  workers: ['core', 'wire', 'telemetry', 'api', 'validation', 'dialects', 'settlement', 'tokens'],
  store: ['core', 'api', 'config', 'telemetry'],
  leases: ['core', 'wire', 'telemetry', 'store', 'workers'],
  // Money: what moves it, and what proves it.
  ledger: ['core', 'store'],
  settlement: ['core', 'wire', 'telemetry', 'store', 'workers', 'ledger'],
  management: ['core', 'api', 'config', 'telemetry', 'store', 'ledger', 'validation'],
  mcp: ['core', 'api', 'config', 'telemetry', 'store'],
  simulator: ['core', 'api', 'wire', 'server', 'dialects'],
  client: ['api'],
  console: ['api', 'client'],
  supervisor: ['core', 'config', 'telemetry', 'store', 'server'],
  // Commands: each is a composition of its own.
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
  // Parts of the control process that belong to no plane: the first run, the snapshot, the state of the stores.
  control: ['core', 'api', 'config', 'telemetry', 'store', 'management', 'supervisor'],
}

/** Programs: they may import everything, nobody imports them. */
const ROOTS = '^src/(main|front|control|cli/sluice)[.]ts$'

/** Third-party library → the one place that may import it. */
const DOORS = {
  'uws-20.51': '^src/server/uws[.]ts$',
  'uws-20.69': '^src/server/uws[.]ts$',
  '@uwsjs': '^src/server/uws[.]ts$',
  piscina: '^src/workers/',
  pg: '^src/store/',
  '@electric-sql/pglite': '^src/store/',
  ioredis: '^src/store/',
  ajv: '^src/validation/(schema|operation-validator)[.]ts$',
  aws4: '^src/upstream/aws-signature[.]ts$',
  'gpt-tokenizer': '^src/tokens/tokenizer[.]ts$',
  hono: '^src/management/',
  jose: '^src/(management/tokens|upstream/google-tokens)[.]ts$',
  pino: '^src/telemetry/',
  msgpackr: '^src/wire/',
  nodemailer: '^src/management/mailer[.]ts$',
  yaml: '^src/config/',
  typebox: '^src/(api|config)/',
  commander: '^src/cli/',
  'cli-progress': '^src/cli/progress[.]ts$',
}

const TYPES_MAY_TRAVEL = new Set(['ajv', 'typebox'])

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const packagePath = (name) => `(^|/)node_modules/(@types/)?${escape(name)}(/|$)|^${escape(name)}(/|$)`

const folderRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  comment: `src/${folder} may import ${allowed.length > 0 ? allowed.join(', ') : 'nothing of ours'}.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...allowed].join('|')})/` },
}))

const doorRules = Object.entries(DOORS).map(([name, door]) => ({
  name: `door-${name.replace(/[^A-Za-z0-9]+/g, '-')}`,
  comment: `${name} has one door: ${door}`,
  severity: 'error',
  from: { path: '^src/', pathNot: door },
  // The types of a schema or of its errors may be named elsewhere.
  to: { path: packagePath(name), ...(TYPES_MAY_TRAVEL.has(name) ? { dependencyTypesNot: ['type-only'] } : {}) },
}))

module.exports = {
  forbidden: [
    ...folderRules,
    ...doorRules,
    {
      name: 'known-folders',
      comment: 'A new folder must be given its row in MAY_IMPORT.',
      severity: 'error',
      from: { path: '^src/', pathNot: [`^src/(${Object.keys(MAY_IMPORT).join('|')})/`, ROOTS] },
      to: {},
    },
    {
      name: 'roots-are-not-imported',
      comment: 'A composition root constructs; nobody imports it.',
      severity: 'error',
      from: {},
      to: { path: ROOTS },
    },
    {
      name: 'core-takes-only-types-of-api',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: '^src/api/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'wire-takes-only-types-of-core',
      severity: 'error',
      from: { path: '^src/wire/' },
      to: { path: '^src/core/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'workers-pool-imports',
      comment: 'The pool knows no task: only worker.ts and files of tasks/ may import phases.',
      severity: 'error',
      from: { path: '^src/workers/', pathNot: '^src/workers/(tasks/|worker[.]ts$|[^/]*-tasks?[.]ts$)' },
      to: { path: '^src/(api|validation|dialects|settlement)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'tokenizer-in-workers-only',
      comment: 'It takes 70 MB and a tenth of a second to load.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/workers/count-task[.]ts$' },
      to: { path: '^src/tokens/tokenizer[.]ts$' },
    },
    {
      name: 'workers-take-only-pricing-of-settlement',
      severity: 'error',
      from: { path: '^src/workers/' },
      to: { path: '^src/settlement/', pathNot: '^src/settlement/(pricing|price)' },
    },
    {
      name: 'settlement-and-leases-take-only-the-pool',
      comment: 'Tasks run in worker threads; who needs one asks the pool.',
      severity: 'error',
      from: { path: '^src/(settlement|leases)/' },
      to: { path: '^src/workers/(tasks/|worker[.]ts$|[^/]*-tasks?[.]ts$)' },
    },
    {
      name: 'client-takes-only-types-of-api',
      comment: 'It runs in browsers, without any library.',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^(src/api/|node_modules/)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file that neither imports nor is imported by anything of ours.',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: [ROOTS, '^src/simulator/main[.]ts$', '^src/workers/worker[.]ts$'] },
      to: {},
    },
    {
      name: 'nothing-unresolvable',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-development-dependencies',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: 'node_modules/@types/' },
    },
    {
      name: 'nothing-outside-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist/|src/build[.]mjs$)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json', '.node'],
    },
  },
}
