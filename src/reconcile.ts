import { loadConfig } from './config/config.ts'
import { reconcile } from './ledger/reconcile.ts'
import { migrate } from './store/migrate.ts'
import { openDatabase } from './store/open-database.ts'

const DRIFT = 1
const FAILURE = 2

/**
 * `node dist/reconcile.js`: proves that the log, the ledger, the wallets and the budgets tell of the same money. Takes the
 * configuration of the gateway. Exit code 0 when they do, 1 when they do not, 2 when it cannot be known.
 *
 * With Postgres the gateway may run meanwhile; the embedded database has one owner, so the gateway must have ended.
 */
async function main(): Promise<void> {
  const { config } = loadConfig({ env: process.env, argv: process.argv.slice(2) })
  const database = await openDatabase({
    ...config.database,
    dataDir: config.dataDir,
    onFault: (error) => {
      process.stderr.write(`sluice: ${error.message}\n`)
    },
  })
  try {
    await migrate(database)
    const { enterprises, drifts } = await reconcile(database)
    for (const { enterpriseId, log, ledger, wallet, budgets } of enterprises) {
      tell(`enterprise ${enterpriseId}: log ${log}, ledger ${ledger}, wallet ${wallet}, budgets ${budgets}`)
    }
    for (const { what, of, left, right } of drifts) tell(`DRIFT ${what} (${of}): ${left}, ${right}`)
    tell(drifts.length === 0 ? 'The books agree.' : `${drifts.length} drifts.`)
    process.exitCode = drifts.length === 0 ? 0 : DRIFT
  } finally {
    await database.close()
  }
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}

main().catch((cause: unknown) => {
  const message = cause instanceof Error ? cause.message : String(cause)
  process.stderr.write(`sluice: ${message}\n`)
  process.exitCode = FAILURE
})
