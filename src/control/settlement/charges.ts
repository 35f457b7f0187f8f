import type { Spender, Tenants } from '../../shared/core/budget.ts'
import { budgetName, modelBudgetName, ownerName, ownersOf, timeZoneOf } from '../../shared/core/budget.ts'
import { monthAt } from '../../shared/core/month.ts'
import type { Month } from '../../shared/core/month.ts'
import { postUsage } from '../ledger/post-usage.ts'
import { addBudgetUse } from '../store/budget-use.ts'
import type { BudgetCharge } from '../store/budget-use.ts'
import type { Queryable } from '../store/database.ts'

/** The columns of a row that decide who pays how much. */
export interface ChargedRow extends Spender {
  readonly atMs: number
  /** The model asked for. */
  readonly model: string | null
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costMicro: number
}

/** The usage of one caller in one month, from one journal writer. */
interface MonthlyUsage {
  readonly spender: Spender
  readonly month: Month
  readonly writer: string
  /** Null: of any model, since nobody has budgets for some models. */
  readonly model: string | null
  costMicro: number
  tokens: number
}

/**
 * Sums the cost of rows by payer, for the ledger of the enterprises and the use of budgets. A request counts in the month in which
 * it arrived, for the departments that were above its caller at its settlement, and for the groups that its model was in then.
 */
export class Charges {
  readonly #tenants: Tenants
  readonly #node: string
  readonly #usages = new Map<string, MonthlyUsage[]>()

  constructor(tenants: Tenants, node: string) {
    this.#tenants = tenants
    this.#node = node
  }

  add(writer: string, row: ChargedRow): void {
    const tokens = row.promptTokens + row.completionTokens
    if ((tokens === 0 && row.costMicro === 0) || row.keyId === null) return
    let usages = this.#usages.get(row.keyId)
    if (usages === undefined) this.#usages.set(row.keyId, (usages = []))
    const { modelBudgets, modelNames } = this.#tenants
    const model = modelBudgets.size === 0 || row.model === null ? null : modelNames.modelOf(row.model)
    let usage = usages.find((one) => one.model === model && isOf(one, writer, row))
    if (usage === undefined) {
      const { keyId, memberId, departmentId, enterpriseId } = row
      const spender = { keyId, memberId, departmentId, enterpriseId }
      const month = monthAt(timeZoneOf(spender, this.#tenants), row.atMs)
      usage = { spender, month, writer, model, costMicro: 0, tokens: 0 }
      usages.push(usage)
    }
    usage.costMicro += row.costMicro
    usage.tokens += tokens
  }

  /**
   * Call it in the transaction that inserts the rows. No other batch ever has the name `batch`. Returns the names of the budgets that
   * are charged.
   */
  async post(queryable: Queryable, batch: string): Promise<string[]> {
    const costs = new Map<string, number>()
    const uses = new Map<string, Writable<BudgetCharge>>()
    for (const usage of [...this.#usages.values()].flat()) {
      const { spender, writer, costMicro, tokens } = usage
      const { enterpriseId } = spender
      if (enterpriseId !== null) costs.set(enterpriseId, (costs.get(enterpriseId) ?? 0) + costMicro)
      for (const budget of this.#budgetsOf(usage)) {
        const use = uses.get(`${writer}\n${budget}`)
        if (use === undefined) {
          uses.set(`${writer}\n${budget}`, { budget, writer: writerName(this.#node, writer), costMicro, tokens })
        } else {
          use.costMicro += costMicro
          use.tokens += tokens
        }
      }
    }
    await addBudgetUse(queryable, [...uses.values()])
    await postUsage(queryable, batch, costs)
    return [...uses.values()].map(({ budget }) => budget)
  }

  /** The names of all budgets that a usage counts against. */
  #budgetsOf({ spender, month, model }: MonthlyUsage): string[] {
    const { modelBudgets, modelNames } = this.#tenants
    return ownersOf(spender, this.#tenants).flatMap(([owner, id]) => {
      const own = model === null ? [] : (modelBudgets.get(ownerName(owner, id)) ?? [])
      const forModel = own.filter(({ models }) => modelNames.cover(models, model ?? ''))
      return [
        budgetName(owner, id, month.name),
        ...forModel.map(({ models }) => modelBudgetName(models, owner, id, month.name)),
      ]
    })
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The name of a front's journal in the database. */
export function writerName(node: string, writer: string): string {
  return `${node}/${writer}`
}

function isOf({ spender, month, writer }: MonthlyUsage, ofWriter: string, row: ChargedRow): boolean {
  return (
    row.atMs >= month.startMs &&
    row.atMs < month.endMs &&
    writer === ofWriter &&
    spender.memberId === row.memberId &&
    spender.departmentId === row.departmentId &&
    spender.enterpriseId === row.enterpriseId
  )
}
