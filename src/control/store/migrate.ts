import type { Database } from './database.ts'
import type { Migration } from './migration.ts'
import { initial } from './migrations/0001-initial.ts'
import { groupLimits } from './migrations/0002-group-limits.ts'
import { traceId } from './migrations/0003-trace-id.ts'
import { videoJobs } from './migrations/0004-video-jobs.ts'
import { lighterLog } from './migrations/0005-lighter-log.ts'
import { ledger } from './migrations/0006-ledger.ts'
import { sessions } from './migrations/0008-sessions.ts'
import { dailySums } from './migrations/0009-daily-sums.ts'
import { invitations } from './migrations/0010-invitations.ts'
import { upstreams } from './migrations/0011-upstreams.ts'
import { audit } from './migrations/0012-audit.ts'
import { statistics } from './migrations/0013-statistics.ts'
import { narrowLogIndexes } from './migrations/0014-narrow-log-indexes.ts'
import { platformBudget } from './migrations/0015-platform-budget.ts'
import { seeing } from './migrations/0016-seeing.ts'
import { steering } from './migrations/0017-steering.ts'
import { holderLimits } from './migrations/0018-holder-limits.ts'
import { alerts } from './migrations/0019-alerts.ts'
import { userSessions } from './migrations/0021-user-sessions.ts'
import { signIn } from './migrations/0022-sign-in.ts'
import { capture } from './migrations/0023-capture.ts'
import { modelBudgets } from './migrations/0024-model-budgets.ts'
import { keyTools } from './migrations/0025-key-tools.ts'
import { declaredKeys } from './migrations/0026-declared-keys.ts'
import { joinReason } from './migrations/0027-join-reason.ts'
import { toolServers } from './migrations/0028-tool-servers.ts'
import { toolServerDocuments } from './migrations/0029-tool-server-documents.ts'
import { toolServerGrants } from './migrations/0030-tool-server-grants.ts'
import { keyDays } from './migrations/0031-key-days.ts'
import { listedToolServers } from './migrations/0032-listed-tool-servers.ts'

/** The migrations in the order in which they are applied. */
const MIGRATIONS: readonly Migration[] = [
  initial,
  groupLimits,
  traceId,
  videoJobs,
  lighterLog,
  ledger,
  sessions,
  dailySums,
  invitations,
  upstreams,
  audit,
  statistics,
  narrowLogIndexes,
  platformBudget,
  seeing,
  steering,
  holderLimits,
  alerts,
  userSessions,
  signIn,
  capture,
  modelBudgets,
  keyTools,
  declaredKeys,
  joinReason,
  toolServers,
  toolServerDocuments,
  toolServerGrants,
  keyDays,
  listedToolServers,
]

// The number is arbitrary, but every node must use the same one.
const LOCK = 7_585_423

const PREPARE = `
  SET LOCAL client_min_messages = warning;
  CREATE TABLE IF NOT EXISTS schema_migrations (
    id text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`

/**
 * Applies pending migrations, each in its own transaction. Nodes that start together wait for each other. Resolves to the ids that
 * were applied. Rejects when the schema is newer than this program.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
  onApplied: (id: string) => void = () => undefined,
): Promise<string[]> {
  // Nearly every start ends here, with two statements in place of dozens.
  if ((await pendingMigrations(database, migrations)).length === 0) return []
  const applied: string[] = []
  for (const migration of migrations) {
    const isNew = await database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      await tx.script(PREPARE)
      const known = await tx.query<{ id: string }>('SELECT id FROM schema_migrations')
      refuseNewerSchema(known, migrations)
      if (known.some(({ id }) => id === migration.id)) return false
      await tx.script(migration.sql)
      await tx.query('INSERT INTO schema_migrations (id) VALUES ($1)', [migration.id])
      return true
    })
    if (!isNew) continue
    applied.push(migration.id)
    onApplied(migration.id)
  }
  return applied
}

/** Returns the ids of the migrations that `migrate` would apply. Rejects when the schema is newer than this program. */
export async function pendingMigrations(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<string[]> {
  const [table] = await database.query<{ exists: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
  )
  const known = table?.exists === true ? await database.query<{ id: string }>('SELECT id FROM schema_migrations') : []
  refuseNewerSchema(known, migrations)
  return migrations.map(({ id }) => id).filter((id) => !known.some((one) => one.id === id))
}

function refuseNewerSchema(known: readonly { id: string }[], migrations: readonly Migration[]): void {
  const strange = known.find(({ id }) => !migrations.some((migration) => migration.id === id))
  if (strange !== undefined) {
    throw new Error(
      `the database has migration ${strange.id}, which this version does not know: start a newer version of Sluice`,
    )
  }
}
