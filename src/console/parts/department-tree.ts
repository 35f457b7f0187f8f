import type { Department } from './enterprise.ts'

export interface Placed {
  readonly department: Department
  /** 0: directly below the enterprise. */
  readonly depth: number
}

/** The departments as a tree reads: each before those below it. */
export function inTreeOrder(
  departments: readonly Department[],
  parentId: string | null = null,
  depth = 0,
): readonly Placed[] {
  return departments
    .filter((one) => one.parent_id === parentId)
    .flatMap((department) => [{ department, depth }, ...inTreeOrder(departments, department.id, depth + 1)])
}

/** The departments above one, the nearest first. */
export function ancestryOf(departments: readonly Department[], parentId: string | null): readonly Department[] {
  const parent = departments.find(({ id }) => id === parentId)
  return parent === undefined ? [] : [parent, ...ancestryOf(departments, parent.parent_id)]
}
