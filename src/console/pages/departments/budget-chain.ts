import { ancestryOf } from '../../parts/department-tree.ts'
import type { Department, Enterprise } from '../../parts/enterprise.ts'

/** A budget that pays for a request, seen from a department. */
export interface ChainBudget {
  readonly id: string
  /** Null: the budget that the platform gave the enterprise. */
  readonly name: string | null
  /** Micro-units of a month; null: no limit. */
  readonly limit: number | null
  /** Null: not known to this person, or no limit. */
  readonly remaining: number | null
}

/** The budgets above a place in the tree, the nearest first; the enterprise is the last. */
export function chainAbove(
  departments: readonly Department[],
  parentId: string | null,
  enterprise: Enterprise | undefined,
): readonly ChainBudget[] {
  const above = ancestryOf(departments, parentId).map(({ id, name, monthly_budget: limit, spend }): ChainBudget => ({
    id,
    name,
    limit,
    remaining: remainingOf(limit, spend),
  }))
  if (enterprise === undefined) return above
  const { id, name, monthly_budget: own, platform_monthly_budget: platform, spend } = enterprise
  const isOwn = own !== null && (platform === null || own <= platform)
  const limit = isOwn ? own : platform
  return [...above, { id, name: isOwn || platform === null ? name : null, limit, remaining: remainingOf(limit, spend) }]
}

/** The budget above with the lowest limit; null: none above has one. */
export function inheritedOf(chain: readonly ChainBudget[]): ChainBudget | null {
  return lowest(chain, ({ limit }) => limit)
}

/** The budget that has the least left; null: none has a limit. */
export function bindingOf(chain: readonly ChainBudget[]): ChainBudget | null {
  return lowest(chain, ({ remaining }) => remaining)
}

export function own({ id, name, monthly_budget: limit, spend }: Department): ChainBudget {
  return { id, name, limit, remaining: remainingOf(limit, spend) }
}

function remainingOf(limit: number | null, spend: Department['spend']): number | null {
  return limit === null ? null : (spend?.remaining ?? null)
}

function lowest(chain: readonly ChainBudget[], of: (budget: ChainBudget) => number | null): ChainBudget | null {
  let best: ChainBudget | null = null
  for (const one of chain) {
    const value = of(one)
    if (value === null) continue
    const least = best === null ? null : of(best)
    if (least === null || value < least) best = one
  }
  return best
}
