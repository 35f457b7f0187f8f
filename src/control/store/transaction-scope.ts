import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database, Queryable } from './database.ts'
import { DatabaseError } from './database.ts'

/** The most time from the first statement to the end; then the transaction is rolled back, so that it does not block others. */
const MAX_TRANSACTION_MS = 30_000
const ATTEMPTS = 4
const DEADLOCK = '40P01'
const SERIALIZATION_FAILURE = '40001'

/**
 * A database that runs all statements within `run` in one transaction, through an async context, so that no statement can be left
 * out by mistake. Outside of `run`, it passes statements to the underlying database.
 *
 * Within `run`, `transaction` is a savepoint: its statements are undone when it rejects, and the outer transaction continues. A
 * statement that fails outside of a savepoint fails the outer transaction. Savepoints must not run side by side.
 */
export class TransactionScope implements Database {
  readonly #database: Database
  readonly #current = new AsyncLocalStorage<ScopedTransaction>()

  constructor(database: Database) {
    this.#database = database
  }

  get kind(): Database['kind'] {
    return this.#database.kind
  }

  /**
   * Commits when `work` resolves, and rolls back when it rejects. The transaction begins with the first statement, so that earlier
   * computation holds no connection. When the database aborts the transaction in favour of another one (a deadlock), `work` runs
   * again.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const scoped = new ScopedTransaction(this.#database)
      try {
        const result = await this.#current.run(scoped, work)
        await scoped.end('commit')
        return result
      } catch (cause) {
        await scoped.end('rollback')
        if (attempt === ATTEMPTS || !isAbortedForOthers(cause)) throw cause
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
    const scoped = this.#current.getStore()
    return scoped === undefined ? this.#database.transaction(work) : scoped.savepoint(work)
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
    const scoped = this.#current.getStore()
    return scoped === undefined ? this.#database : scoped.open()
  }
}

type Outcome = 'commit' | 'rollback'

/** One transaction, which begins with the first statement. */
class ScopedTransaction {
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
    // A statement after the end of its transaction must not run outside of it.
    if (this.#isOver) {
      return Promise.reject(new DatabaseError('the transaction of this change has ended already', null, null))
    }
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
    if (wasOver && outcome === 'commit') {
      throw new DatabaseError(
        `the transaction took longer than ${MAX_TRANSACTION_MS / 1000} s and was rolled back`,
        null,
        null,
      )
    }
    // When the transaction could not begin, its statements have rejected already.
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
          }, MAX_TRANSACTION_MS)
          resolve(tx)
        })
        if (outcome === 'rollback') throw new RolledBack()
      })
      this.#ending.catch(reject)
    })
  }
}

class RolledBack extends Error {}

function isAbortedForOthers(cause: unknown): boolean {
  const error = cause instanceof Error && cause.cause instanceof DatabaseError ? cause.cause : cause
  return error instanceof DatabaseError && (error.sqlState === DEADLOCK || error.sqlState === SERIALIZATION_FAILURE)
}
