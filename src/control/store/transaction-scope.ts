import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database, Queryable } from './database.ts'
import { DatabaseError } from './database.ts'

/** From its first statement on; then it is rolled back, lest one that hangs holds up everybody else. */
const MAX_UNIT_MS = 30_000
const ATTEMPTS = 4
const DEADLOCK = '40P01'
const SERIALIZATION_FAILURE = '40001'

/**
 * A database of which all statements that are made within `run` belong to one transaction, whoever makes them and however
 * deep: nothing can be left out of it by mistake. Outside of `run` it is the database it was made of.
 *
 * Within a unit, `transaction` is a savepoint: what it did is undone when it rejects, and the unit goes on. A statement that
 * fails outside of one fails the unit. Savepoints are taken one after the other, never side by side.
 */
export class TransactionScope implements Database {
  readonly #database: Database
  readonly #current = new AsyncLocalStorage<Unit>()

  constructor(database: Database) {
    this.#database = database
  }

  get kind(): Database['kind'] {
    return this.#database.kind
  }

  /**
   * Commits what `work` has done once it resolves, undoes it when it rejects. The transaction begins with the first statement,
   * so that what is computed before holds no connection. Where the database gave others the precedence (a deadlock), `work`
   * is done again.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const unit = new Unit(this.#database)
      try {
        const result = await this.#current.run(unit, work)
        await unit.end('commit')
        return result
      } catch (cause) {
        await unit.end('rollback')
        if (attempt === ATTEMPTS || !isPrecedence(cause)) throw cause
      }
    }
  }

  async query<Row>(...statement: Parameters<Queryable['query']>): Promise<Row[]> {
    return (await this.#target()).query<Row>(...statement)
  }

  async script(sql: string): Promise<void> {
    return (await this.#target()).script(sql)
  }

  async copyIn(...rows: Parameters<Queryable['copyIn']>): Promise<void> {
    return (await this.#target()).copyIn(...rows)
  }

  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const unit = this.#current.getStore()
    return unit === undefined ? this.#database.transaction(work) : unit.savepoint(work)
  }

  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#current.exit(() => this.#database.listen(channel, onNotify))
  }

  ping(): Promise<number> {
    return this.#database.ping()
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  async #target(): Promise<Queryable> {
    const unit = this.#current.getStore()
    return unit === undefined ? this.#database : unit.open()
  }
}

type Outcome = 'commit' | 'rollback'

/** One transaction, begun when it is first needed. */
class Unit {
  readonly #database: Database
  #opened: Promise<Queryable> | null = null
  /** Settles when the transaction is over. */
  #ending: Promise<void> | null = null
  #decide: ((outcome: Outcome) => void) | null = null
  #isOver = false
  #savepoints = 0
  #timer: NodeJS.Timeout | null = null

  constructor(database: Database) {
    this.#database = database
  }

  open(): Promise<Queryable> {
    // What goes on after its unit has failed must not be done outside of it.
    if (this.#isOver) return Promise.reject(new DatabaseError('the unit of work is over', null, null))
    this.#opened ??= this.#begin()
    return this.#opened
  }

  async savepoint<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const tx = await this.open()
    this.#savepoints += 1
    const name = `unit_${this.#savepoints}`
    await tx.script(`SAVEPOINT ${name}`)
    let result: T
    try {
      result = await work(tx)
    } catch (cause) {
      await tx.script(`ROLLBACK TO SAVEPOINT ${name}`)
      throw cause
    }
    await tx.script(`RELEASE SAVEPOINT ${name}`)
    return result
  }

  async end(outcome: Outcome): Promise<void> {
    const wasOver = this.#isOver
    this.#isOver = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (wasOver && outcome === 'commit') throw new DatabaseError('the unit of work took too long', null, null)
    // One that could not begin has told those who asked for it.
    await this.#opened?.catch(() => undefined)
    this.#decide?.(outcome)
    if (outcome === 'commit') await this.#ending
    else await this.#ending?.catch(() => undefined)
  }

  #begin(): Promise<Queryable> {
    return new Promise((resolve, reject) => {
      this.#ending = this.#database.transaction(async (tx) => {
        const outcome = await new Promise<Outcome>((decide) => {
          this.#decide = decide
          this.#timer = setTimeout(() => {
            this.#isOver = true
            decide('rollback')
          }, MAX_UNIT_MS)
          resolve(tx)
        })
        if (outcome === 'rollback') throw new RolledBack()
      })
      this.#ending.catch(reject)
    })
  }
}

class RolledBack extends Error {}

function isPrecedence(cause: unknown): boolean {
  const error = cause instanceof Error && cause.cause instanceof DatabaseError ? cause.cause : cause
  return error instanceof DatabaseError && (error.sqlState === DEADLOCK || error.sqlState === SERIALIZATION_FAILURE)
}
