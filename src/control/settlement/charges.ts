import type { Spender, Tenants } from '../../shared/core/budget.ts'
import { budgetName, ownersOf, timeZoneOf } from '../../shared/core/budget.ts'
import { monthAt } from '../../shared/core/month.ts'
import type { Month } from '../../shared/core/month.ts'
import { postUsage } from '../ledger/post-usage.ts'
import { addBudgetUse } from '../store/budget-use.ts'
import type { BudgetCharge } from '../store/budget-use.ts'
import type { Queryable } from '../store/database.ts'

/** What of a row is charged to somebody. */
export interface ChargedRow extends Spender {
  readonly atMs: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costMicro: number
}

/** All that one caller used in a month. */
interface Tab {
  readonly spender: Spender
  readonly month: Month
  readonly writer: string
  costMicro: number
  tokens: number
}

/**
 * What rows cost, by who pays for it: the ledger of the enterprises and the use of budgets. A request belongs to the month in
 * which it arrived, and to the departments that were above its caller when it was settled.
 */
export class Charges {
  readonly #tenants: Tenants
  readonly #node: string
  readonly #tabs = new Map<string, Tab[]>()

  constructor(tenants: Tenants, node: string) {
    this.#tenants = tenants
    this.#node = node
  }

  add(writer: string, row: ChargedRow): void {
    const tokens = row.promptTokens + row.completionTokens
    if ((tokens === 0 && row.costMicro === 0) || row.keyId === null) return
    let tabs = this.#tabs.get(row.keyId)
    if (tabs === undefined) this.#tabs.set(row.keyId, (tabs = []))
    let tab = tabs.find((one) => isOf(one, writer, row))
    if (tab === undefined) {
      const { keyId, memberId, departmentId, enterpriseId } = row
      const spender = { keyId, memberId, departmentId, enterpriseId }
      const month = monthAt(timeZoneOf(spender, this.#tenants), row.atMs)
      tab = { spender, month, writer, costMicro: 0, tokens: 0 }
      tabs.push(tab)
    }
    tab.costMicro += row.costMicro
    tab.tokens += tokens
  }

  /** In the transaction that inserts the rows. `batch` is a name that no other batch ever has. */
  async post(queryable: Queryable, batch: string): Promise<void> {
    const costs = new Map<string, number>()
    const uses = new Map<string, Writable<BudgetCharge>>()
    for (const { spender, month, writer, costMicro, tokens } of [...this.#tabs.values()].flat()) {
      const { enterpriseId } = spender
      if (enterpriseId !== null) costs.set(enterpriseId, (costs.get(enterpriseId) ?? 0) + costMicro)
      for (const [owner, id] of ownersOf(spender, this.#tenants)) {
        const budget = budgetName(owner, id, month.name)
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
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** By what name the database knows the journal of a front. */
export function writerName(node: string, writer: string): string {
  return `${node}/${writer}`
}

function isOf({ spender, month, writer }: Tab, ofWriter: string, row: ChargedRow): boolean {
  return (
    row.atMs >= month.startMs &&
    row.atMs < month.endMs &&
    writer === ofWriter &&
    spender.memberId === row.memberId &&
    spender.departmentId === row.departmentId &&
    spender.enterpriseId === row.enterpriseId
  )
}
