import type { Command } from 'commander'
import { EXIT } from '../shared/core/exit-codes.ts'
import { CHECK_COUNT, reconcile } from '../control/ledger/reconcile.ts'
import type { Reconciliation } from '../control/ledger/reconcile.ts'
import { command, configOf } from './command.ts'
import type { CommandContext, CommonOptions } from './command.ts'
import type { Output } from './output.ts'
import { Progress } from './progress.ts'
import { requireSchema, withDatabase } from './with-database.ts'

export function addReconcile(program: Command, { output, ended }: CommandContext): void {
  command(
    program,
    'reconcile',
    'prove that the request log, the ledger, the wallets and the budgets agree; exit code 1 when they differ',
  ).action(async (options: CommonOptions) => {
    await withDatabase(configOf(options), output, async (database) => {
      await requireSchema(database)
      const progress = new Progress('comparing the books', CHECK_COUNT, output)
      const found = await reconcile(database, () => {
        progress.step()
      }).finally(() => {
        progress.end()
      })
      tell(output, found)
      ended(found.drifts.length === 0 ? EXIT.ok : EXIT.failure)
    })
  })
}

function tell(output: Output, { enterprises, drifts }: Reconciliation): void {
  for (const { enterpriseId, log, ledger, wallet, budgets } of enterprises) {
    output.line(`enterprise ${enterpriseId}: log ${log}, ledger ${ledger}, wallet ${wallet}, budgets ${budgets}`)
  }
  for (const { what, of, left, right } of drifts) output.line(`DIFFERENCE ${what} (${of}): ${left}, ${right}`)
  output.line(drifts.length === 0 ? 'The books agree.' : `The books differ in ${drifts.length} places.`)
  output.value({
    agree: drifts.length === 0,
    enterprises: enterprises.map(({ enterpriseId, ...books }) => ({ enterprise_id: enterpriseId, ...books })),
    drifts,
  })
}
