import { setTimeout as sleep } from 'node:timers/promises'
import { budgetOfAllowance } from '../../shared/core/budget.ts'
import { listBudgetUse } from '../store/budget-use.ts'
import type { BudgetUseRow } from '../store/budget-use.ts'
import type { Queryable } from '../store/database.ts'
import { writerName } from './charges.ts'

export interface SettledSpendOptions {
  readonly database: Queryable
  readonly node: string
  /** Resolves once the records from before the start of this process are settled. */
  readonly drained: Promise<void>
  readonly onFault: (cause: unknown) => void
}

const RETRY_MS = 1_000

/** Reads the use of budgets that the settler has booked. */
export class SettledSpendReader {
  readonly #options: SettledSpendOptions

  constructor(options: SettledSpendOptions) {
    this.#options = options
  }

  /** Returns the use of each allowance, by journal of this node. Retries until the database answers. */
  async read(allowances: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const { database, drained, onFault } = this.#options
    await drained
    const budgets = allowances.map((allowance) => budgetOfAllowance(allowance))
    for (;;) {
      try {
        const rows = await listBudgetUse(
          database,
          budgets.flatMap((budget) => (budget === null ? [] : [budget.name])),
        )
        return new Map(allowances.map((allowance, index) => [allowance, this.#used(budgets[index], rows)]))
      } catch (cause) {
        onFault(cause)
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
  }

  #used(budget: ReturnType<typeof budgetOfAllowance> | undefined, rows: readonly BudgetUseRow[]): Map<string, number> {
    const used = new Map<string, number>()
    if (budget === null || budget === undefined) return used
    const own = writerName(this.#options.node, '')
    for (const row of rows) {
      if (row.budget !== budget.name) continue
      const writer = row.writer.startsWith(own) ? row.writer.slice(own.length) : row.writer
      used.set(writer, budget.measure === 'money' ? row.cost_micro : row.tokens)
    }
    return used
  }
}
