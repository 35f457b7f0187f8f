import type { Database, Queryable } from '../../src/control/store/database.ts'

/**
 * A database whose process ends at its `step`th operation, `before` it is sent or `after` it was carried out but before the
 * answer is read. Statements, begins and commits count. From then on everything fails, as nobody is there to ask.
 */
export function faultyDatabase(
  database: Database,
  step: number,
  moment: 'before' | 'after',
): { database: Database; crashed: Promise<void> } {
  let operations = 0
  let isDown = false
  let report: () => void = () => undefined
  const crashed = new Promise<void>((resolve) => (report = resolve))
  const crash = (): Error => {
    isDown = true
    report()
    return new Error('the process has ended')
  }
  const guarded = async <T>(operation: () => Promise<T>): Promise<T> => {
    if (isDown) throw crash()
    const isLast = operations++ === step
    if (isLast && moment === 'before') throw crash()
    const result = await operation()
    if (isLast) throw crash()
    return result
  }
  const wrap = (target: Queryable): Queryable => ({
    query: (statement, parameters) => guarded(() => target.query(statement, parameters)),
    script: (sql) => guarded(() => target.script(sql)),
    copyIn: (table, columns, rows) => guarded(() => target.copyIn(table, columns, rows)),
  })
  return {
    crashed,
    database: {
      ...database,
      ...wrap(database),
      transaction: async (work) => {
        if (isDown) throw crash()
        let isCommitting = false
        const result = await database.transaction(async (tx) => {
          const value = await work(wrap(tx))
          // The commit itself: ending before it rolls back, ending after it leaves it done with nobody told.
          isCommitting = operations++ === step
          if (isCommitting && moment === 'before') throw crash()
          return value
        })
        if (isCommitting) throw crash()
        return result
      },
    },
  }
}
