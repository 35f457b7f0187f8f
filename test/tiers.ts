/**
 * The tiers of the test suite. `npm test` runs every `*.test.ts` but those of the long tier; `npm run test:long` runs
 * `*.long.test.ts` and, with their full dose (`test/support/dose.ts`), the files of `DOSED`. `test/README.md` explains both.
 */

/** `shots` only makes pictures of the console: `npm run console:shots`. */
export type Tier = 'short' | 'long' | 'shots'

/** Tests that share one process with others: they start nothing and change nothing that others see. */
const UNIT_TESTS = 'test/{unit,regressions/translation}/**/*.test.ts'

/** Folders whose tests start whole gateways. Every other test is one of parts. */
const GATEWAY_FOLDERS = 'test/{console,e2e,fault,integration/gateway,integration/management,integration/mcp}'
/**
 * They are about protocols, pages and rows: the short tier starts them beside a Postgres, where a gateway takes two thirds of the
 * processor that it takes with the embedded database.
 */
const SHORT_ON_POSTGRES = 'test/{console,integration/gateway,integration/management,integration/mcp}/**/*.test.ts'
/** The long tier runs them on the embedded database. */
const MANAGEMENT_TESTS = 'test/integration/management/**/*.test.ts'
const GATEWAY_TESTS = `${GATEWAY_FOLDERS}/**/*.test.ts`
const LONG_TESTS = '**/*.long.test.ts'

/**
 * Gateway tests that `npm test` runs with a small dose and the long tier with the full one; those of `fault/` on both databases there.
 */
const DOSED_GATEWAYS = [
  'test/console/console.test.ts',
  'test/fault/bad-keys.test.ts',
  'test/fault/bank.test.ts',
  'test/fault/chaos.test.ts',
  'test/fault/control-loss.test.ts',
  'test/fault/database-outages.test.ts',
  'test/fault/drain.test.ts',
  'test/fault/kill-matrix.test.ts',
  'test/fault/kills.test.ts',
  'test/fault/login-storm.test.ts',
  'test/fault/redis-loss.test.ts',
  'test/fault/restarts.test.ts',
  'test/integration/gateway/bench.test.ts',
  'test/integration/gateway/capture.test.ts',
  'test/integration/gateway/cli-login.test.ts',
  'test/integration/gateway/cli.test.ts',
  'test/integration/gateway/client-aborts.test.ts',
  'test/integration/gateway/configuration.test.ts',
  'test/integration/gateway/import-litellm.test.ts',
  'test/integration/gateway/import-new-api.test.ts',
  'test/integration/gateway/new-key.test.ts',
  'test/integration/gateway/ports.test.ts',
  'test/integration/gateway/recorded-replay.test.ts',
  'test/integration/gateway/reload.test.ts',
  'test/integration/gateway/splits.test.ts',
  'test/integration/gateway/startup.test.ts',
  'test/integration/gateway/wallets.test.ts',
  'test/integration/management/alerts.test.ts',
  'test/integration/management/audit.test.ts',
  'test/integration/management/capture.test.ts',
  'test/integration/management/enterprise.test.ts',
  'test/integration/management/exports.test.ts',
  'test/integration/management/live-log.test.ts',
  'test/integration/management/mail.test.ts',
  'test/integration/management/models.test.ts',
  'test/integration/management/money.test.ts',
  'test/integration/management/naughty-strings.test.ts',
  'test/integration/management/openid.test.ts',
  'test/integration/management/password-reset.test.ts',
  'test/integration/management/sessions.test.ts',
  'test/integration/management/spend.test.ts',
  'test/integration/management/stored-upstreams.test.ts',
  'test/integration/management/upstream-reach.test.ts',
  'test/integration/management/upstreams.test.ts',
  'test/integration/mcp/chats.test.ts',
  'test/integration/mcp/clients.test.ts',
  'test/integration/mcp/list-changed.test.ts',
  'test/integration/mcp/servers-hostile.test.ts',
  'test/integration/mcp/sessions.test.ts',
]

/** The same of other tests. */
const DOSED_PARTS = [
  'test/integration/leases/redis-leases.test.ts',
  'test/integration/leases/redis-outages.test.ts',
  'test/integration/leases/simulation.test.ts',
  'test/integration/store/pglite-directory.test.ts',
  'test/integration/store/pglite-template.test.ts',
  'test/integration/store/postgres-outage.test.ts',
  'test/integration/store/postgres.test.ts',
  'test/unit/limits/budgets.test.ts',
  'test/unit/limits/far-limits.test.ts',
  'test/unit/limits/holder-limits.test.ts',
  'test/unit/limits/leases.test.ts',
  'test/unit/limits/places-through-kills.test.ts',
  'test/unit/mcp/connection.test.ts',
  'test/unit/scheduling/histories.test.ts',
]

export const DOSED = [...DOSED_GATEWAYS, ...DOSED_PARTS]

/** Gateway tests that need a Postgres: the embedded database cannot show what they prove. */
const POSTGRES_ONLY = [
  'test/fault/database-outages.test.ts',
  'test/fault/redis-failover.long.test.ts',
  'test/fault/redis-loss.test.ts',
  'test/integration/gateway/capture-over-machines.long.test.ts',
  'test/integration/gateway/deletion-over-machines.long.test.ts',
  'test/integration/gateway/holder-limits-over-machines.long.test.ts',
  'test/integration/gateway/limits-over-machines.long.test.ts',
  'test/integration/gateway/live-log-over-machines.long.test.ts',
  'test/integration/gateway/tools-over-machines.long.test.ts',
  'test/integration/gateway/wallets-over-machines.long.test.ts',
  'test/integration/management/capture.test.ts',
]

/**
 * Gateway tests that run on both databases: start, journal, exports, stored upstreams, changes, the story, loss of the database.
 * The contract suites of `test/contract` prove every SQL statement on both already.
 */
const BOTH_DATABASES = [
  'test/e2e/story.test.ts',
  'test/fault/control-loss.test.ts',
  'test/fault/database-loss.test.ts',
  'test/integration/gateway/cli.test.ts',
  'test/integration/gateway/first-run.test.ts',
  'test/integration/gateway/journal.test.ts',
  'test/integration/gateway/lost-secrets.long.test.ts',
  'test/integration/gateway/startup.test.ts',
  'test/integration/management/changes.test.ts',
  'test/integration/management/exports.test.ts',
  'test/integration/management/stored-upstreams.test.ts',
  'test/integration/mcp/servers.test.ts',
]

/** Tests of what uWebSockets.js gets wrong or leaves to its user, run on each of its builds that this machine can load. */
export const SERVER_TESTS = [
  'test/integration/gateway/half-closes.test.ts',
  'test/integration/gateway/headers.test.ts',
  'test/integration/gateway/http-bodies.test.ts',
  'test/integration/gateway/http-connections.test.ts',
  'test/integration/gateway/http-framing.test.ts',
  'test/integration/gateway/http-methods.test.ts',
  'test/integration/gateway/slow-readers.test.ts',
  'test/integration/gateway/slow-uploads.long.test.ts',
  'test/integration/gateway/slowloris.test.ts',
]

/** Of them, those that run on Postgres in the long tier alone. */
const LATER_ON_POSTGRES = [
  'test/e2e/story.test.ts',
  'test/fault/control-loss.test.ts',
  'test/fault/database-loss.test.ts',
  'test/integration/gateway/cli.test.ts',
  'test/integration/gateway/startup.test.ts',
  'test/integration/mcp/servers.test.ts',
]

interface Files {
  readonly include: string[]
  readonly exclude: string[]
}

/** The test files of a tier, by vitest project. */
export function filesOf(tier: Tier): Record<'units' | 'parts' | 'pglite' | 'postgres', Files> {
  const isInTier = (file: string): boolean => (tier === 'long') === file.endsWith('.long.test.ts')
  if (tier === 'shots') {
    const none = { include: [], exclude: [] }
    return { units: none, parts: none, pglite: { include: ['test/console/shots.ts'], exclude: [] }, postgres: none }
  }
  const onPostgres = [...POSTGRES_ONLY, ...BOTH_DATABASES]
  if (tier === 'short') {
    return {
      units: { include: [UNIT_TESTS], exclude: [LONG_TESTS] },
      parts: { include: ['test/**/*.test.ts'], exclude: [UNIT_TESTS, GATEWAY_TESTS, LONG_TESTS] },
      pglite: {
        include: ['test/{e2e,fault}/**/*.test.ts', ...BOTH_DATABASES.filter(isInTier)],
        exclude: [LONG_TESTS, MANAGEMENT_TESTS, ...POSTGRES_ONLY],
      },
      postgres: {
        include: [SHORT_ON_POSTGRES, ...onPostgres.filter(isInTier)],
        exclude: [LONG_TESTS, ...LATER_ON_POSTGRES],
      },
    }
  }
  return {
    units: { include: [], exclude: [] },
    parts: { include: [`test/${LONG_TESTS}`, ...DOSED_PARTS], exclude: [GATEWAY_TESTS] },
    pglite: {
      include: [`${GATEWAY_FOLDERS}/${LONG_TESTS}`, ...DOSED_GATEWAYS, MANAGEMENT_TESTS],
      exclude: POSTGRES_ONLY,
    },
    postgres: {
      include: onPostgres
        .filter(isInTier)
        .concat(LATER_ON_POSTGRES)
        .concat(DOSED_GATEWAYS.filter((file) => file.startsWith('test/fault/') || onPostgres.includes(file))),
      exclude: [],
    },
  }
}
