// Who may import whom, a row for each room of src. Types count as imports.

const PHASES = ['auth', 'limits', 'validation', 'scheduling', 'upstream', 'accounting'].map((room) => `front/${room}`)

const BASE = ['shared/core', 'shared/runtime']

/** Room → rooms it may import besides itself. What is not listed here may import nothing of ours. */
const MAY_IMPORT = {
  // Of no process.
  'shared/records': [],
  'shared/api': ['shared/records'],
  // Types of api only, see below.
  'shared/core': ['shared/api', 'shared/records'],
  // The endpoints of the data plane: each is declared once, schema included.
  'shared/endpoints': ['shared/core', 'shared/api'],
  'shared/runtime': ['shared/core'],
  'shared/wire': [],
  'shared/config': [...BASE],
  'shared/telemetry': [...BASE],
  'shared/link': [...BASE, 'shared/wire', 'shared/telemetry'],
  dialects: [...BASE, 'shared/api', 'shared/wire', 'shared/telemetry'],
  // Fronts write it, the settler reads it.
  journal: [...BASE, 'shared/records'],

  // Of a front process.
  ...Object.fromEntries(PHASES.map((phase) => [phase, [...BASE, 'shared/api', 'shared/wire', 'shared/telemetry']])),
  'front/validation': [...BASE, 'shared/endpoints'],
  'front/accounting': [...BASE, 'journal'],
  'front/capture': [...BASE],
  'front/server': [...BASE, 'shared/api', 'shared/wire', 'shared/telemetry'],
  'front/overload': [...BASE, 'shared/telemetry'],
  // What tokens are made of: tables for the gateway, the tokenizer for the workers.
  'front/tokens': [...BASE],
  // The pool and its tasks are told apart below.
  'front/workers': [...BASE, 'shared/api', 'shared/telemetry', 'front/validation', 'front/tokens', 'dialects'],
  // The relay cuts streams into events itself.
  'front/gateway': [
    ...BASE,
    ...PHASES,
    'front/overload',
    'front/capture',
    'front/tokens',
    'front/videos',
    'dialects',
    'journal',
    'shared/endpoints',
    'shared/telemetry',
    'shared/wire',
  ],
  // Of the gateway only what calls an upstream, see below.
  'front/videos': [...BASE, 'front/gateway', 'front/upstream', 'dialects', 'shared/endpoints'],

  // Of the control process.
  'control/store': [...BASE, 'shared/records', 'shared/api', 'shared/config', 'shared/telemetry'],
  'control/leases': [...BASE, 'shared/telemetry', 'control/store'],
  // Money: what moves it, and what proves it.
  'control/ledger': [...BASE, 'control/store'],
  'control/settlement': [...BASE, 'shared/records', 'shared/telemetry', 'journal', 'control/store', 'control/ledger'],
  // Bodies of requests and answers: redacts, seals, keeps and shows them.
  'control/capture': [...BASE, 'shared/telemetry', 'control/store'],
  'control/management': [
    ...BASE,
    'shared/records',
    'shared/api',
    'shared/endpoints',
    'shared/config',
    'shared/telemetry',
    'control/store',
    'control/ledger',
    'control/capture',
  ],
  // The tool server: its own tools are operations of the management API, and requests to models.
  'control/mcp': [
    ...BASE,
    'shared/api',
    'shared/endpoints',
    'shared/wire',
    'shared/config',
    'shared/telemetry',
    'control/store',
    'control/management',
  ],
  // Alerts: what they watch, and who is told.
  'control/alerts': [...BASE, 'shared/api', 'shared/telemetry', 'control/store'],
  // What it does for all fronts together.
  'control/fronts': [...BASE, 'shared/api', 'shared/config', 'shared/telemetry', 'control/store'],
  // The process itself: first run, listeners, state of the stores.
  'control/lifecycle': [
    ...BASE,
    'shared/api',
    'shared/config',
    'shared/telemetry',
    'control/store',
    'control/management',
    'supervisor',
  ],

  // What stands alone.
  supervisor: [...BASE, 'shared/config', 'shared/telemetry', 'front/server'],
  simulator: [...BASE, 'shared/wire'],
  client: ['shared/api', 'shared/endpoints'],
  // Browsers: the API can do all that the console does.
  console: ['client'],
  // Commands: each is a composition of its own.
  cli: [
    ...BASE,
    'shared/api',
    'shared/config',
    'shared/telemetry',
    'shared/wire',
    'client',
    'control/ledger',
    'control/management',
    'control/store',
    'front/gateway',
    'supervisor',
  ],
}

/** Programs: they may import everything but what runs in another process, nobody imports them. */
const ROOTS = '^src/(main|(front|control)/(main|builders/.+)|cli/sluice)[.]ts$'

/** Third-party library → the one place that may import it. */
const DOORS = {
  'uws-20.51': '^src/front/server/uws[.]ts$',
  'uws-20.69': '^src/front/server/uws[.]ts$',
  '@uwsjs': '^src/front/server/uws[.]ts$',
  piscina: '^src/(front/workers|control/capture)/',
  pg: '^src/control/store/',
  '@electric-sql/pglite': '^src/control/store/',
  ioredis: '^src/control/store/',
  ajv: '^src/(front/validation/(compile-schemas|validators-source)|control/management/operation-validator|control/mcp/servers/argument-check)[.]ts$',
  aws4: '^src/front/upstream/aws-signature[.]ts$',
  'gpt-tokenizer': '^src/front/tokens/tokenizer[.]ts$',
  hono: '^src/control/management/',
  '@modelcontextprotocol/server': '^src/control/mcp/',
  '@modelcontextprotocol/client': '^src/control/mcp/servers/',
  jose: '^src/(control/management/(access-)?tokens|front/upstream/google-tokens)[.]ts$',
  pino: '^src/shared/telemetry/',
  re2js: '^src/control/capture/patterns[.]ts$',
  msgpackr: '^src/(journal|shared/wire)/',
  'openid-client': '^src/control/management/oidc-client[.]ts$',
  otpauth: '^src/control/management/totp[.]ts$',
  nodemailer: '^src/control/management/mailer[.]ts$',
  yaml: '^src/(shared/config|control/mcp/openapi)/',
  typebox: '^src/shared/(api|endpoints|config)/',
  commander: '^src/cli/',
  'cli-progress': '^src/cli/progress[.]ts$',
  autocannon: '^src/cli/bench/buffered-load[.]ts$',
}

const TYPES_MAY_TRAVEL = new Set(['ajv', 'typebox'])

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const packagePath = (name) => `(^|/)node_modules/(@types/)?${escape(name)}(/|$)|^${escape(name)}(/|$)`

const roomRules = Object.entries(MAY_IMPORT).map(([room, allowed]) => ({
  name: `${room}-imports`,
  comment: `src/${room} may import ${allowed.length > 0 ? allowed.join(', ') : 'nothing of ours'}.`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...allowed].join('|')})/` },
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
    ...roomRules,
    ...doorRules,
    {
      name: 'known-rooms',
      comment: 'A new room must be given its row in MAY_IMPORT.',
      severity: 'error',
      from: { path: '^src/', pathNot: [`^src/(${Object.keys(MAY_IMPORT).join('|')})/`, ROOTS] },
      to: {},
    },
    {
      name: 'roots-are-not-imported',
      comment: 'A composition root constructs, with its builders; no other room imports them.',
      severity: 'error',
      from: { pathNot: '^src/(front|control)/(main[.]ts$|builders/)' },
      to: { path: ROOTS },
    },
    {
      name: 'fronts-take-nothing-of-control',
      comment:
        'A front serves without the control process: what both need is in shared/, what one asks the other is in shared/link/.',
      severity: 'error',
      from: { path: '^src/front/' },
      to: { path: '^src/control/' },
    },
    {
      name: 'control-tries-upstreams-only',
      comment:
        'Test calls to upstreams, webhooks and calls of tool servers are made by the code that serves; all else of fronts is theirs.',
      severity: 'error',
      from: { path: '^src/control/' },
      to: {
        path: '^src/front/',
        pathNot:
          '^src/front/(gateway/upstream-(probes|check)|server/client-address|upstream/(public-post|web-fetch))[.]ts$',
      },
    },
    {
      name: 'supervisor-takes-only-the-binding',
      comment: 'It claims ports with the library that will listen on them.',
      severity: 'error',
      from: { path: '^src/supervisor/' },
      to: { path: '^src/front/server/', pathNot: '^src/front/server/uws[.]ts$' },
    },
    {
      name: 'videos-take-only-calls-of-the-gateway',
      comment: 'Gateway and videos know each other: only files that know nothing of videos may be asked for calls.',
      severity: 'error',
      from: { path: '^src/front/videos/' },
      to: {
        path: '^src/front/gateway/',
        pathNot: '^src/front/gateway/(answer-headers|classify|upstream-address|upstream-request)[.]ts$',
      },
    },
    {
      name: 'no-process-from-input',
      comment: 'Nothing that a request or the API says may start a program: only the supervisor and commands do.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(supervisor/|cli/|build[.]mjs$)' },
      to: { path: '^(node:)?(child_process|cluster)$' },
    },
    {
      name: 'core-takes-only-types-of-api',
      comment: 'Schemas cost time to load, and core is loaded everywhere.',
      severity: 'error',
      from: { path: '^src/shared/core/' },
      to: { path: '^src/shared/api/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'journal-format-takes-only-types-of-core',
      comment:
        'The format of a journal depends on the table of log fields and on what a record is, not on code elsewhere.',
      severity: 'error',
      from: { path: '^src/journal/(frames|record|attempts|values|msgpack-writer|crc32c)[.]ts$' },
      to: { path: '^src/shared/(?!records/)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'workers-pool-imports',
      comment: 'The pool knows no task: only worker.ts and tasks may import phases.',
      severity: 'error',
      from: { path: '^src/front/workers/', pathNot: '^src/front/workers/(worker|[^/]*-tasks?)[.]ts$' },
      to: {
        path: '^src/(shared/api|shared/endpoints|front/validation|front/tokens|dialects)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'tokenizer-in-workers-only',
      comment: 'It takes 70 MB and a tenth of a second to load.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/front/workers/count-task[.]ts$' },
      to: { path: '^src/front/tokens/tokenizer[.]ts$' },
    },
    {
      name: 'client-takes-only-types-of-api',
      comment: 'It runs in browsers, without any library.',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^(src/shared/(api|endpoints)/|node_modules/)', dependencyTypesNot: ['type-only'] },
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
      from: {
        orphan: true,
        path: '^src/',
        pathNot: [
          ROOTS,
          '^src/simulator/main[.]ts$',
          '^src/front/workers/worker[.]ts$',
          // Of no module: the page loads it by itself.
          '^src/console/scheme[.]js$',
        ],
      },
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
      comment:
        'What is bundled whole is installed where it is built, and nowhere else: the console, and large libraries of src/bundle.mjs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/console/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/(@types|gpt-tokenizer|libphonenumber-js)/',
      },
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
    exclude: { path: '^(dist/|src/(build|bundle|console/bundle)[.]mjs$)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.node'],
    },
  },
}
