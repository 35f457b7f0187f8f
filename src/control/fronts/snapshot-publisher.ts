import { KnownNames } from '../../shared/config/known-names.ts'
import type { SnapshotParts } from '../../shared/config/snapshot-parts.ts'
import type { UpstreamBook } from '../../shared/config/upstream-book.ts'
import { NO_TENANTS } from '../../shared/core/budget.ts'
import { ModelNames } from '../../shared/core/model-names.ts'
import type { CatalogueNames } from '../../shared/core/model-names.ts'
import type { Tenants } from '../../shared/core/budget.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import type { Seal } from '../../shared/runtime/seal.ts'
import type { Snapshot } from '../../shared/core/snapshot.ts'
import type { Database } from '../store/database.ts'
import { listEntryKeysForSnapshot, snapshotVersion } from '../store/entry-keys.ts'
import { listTenants } from '../store/tenants.ts'
import { listStored } from '../store/upstreams.ts'

/** Interval at which the store is polled, because its notifications can be lost. */
const POLL_MS = 500

export interface SnapshotPublisherOptions {
  readonly database: Database
  /** The upstreams of the configuration; `merge` adds those of the store. */
  readonly book: UpstreamBook
  /** Opens the sealed credentials of upstreams. */
  readonly seal: Seal
  /** False: the configuration forbids the capture of bodies. */
  readonly mayCapture: boolean
  /** Called once for each stored entry that cannot be used. */
  readonly onProblem: (problem: string) => void
  readonly publish: (snapshot: Snapshot) => void
  readonly onFault: (cause: unknown) => void
}

/** Builds the snapshot from the store, and rebuilds it after a change. Notifications make this fast; polling makes it certain. */
export class SnapshotPublisher {
  readonly #options: SnapshotPublisherOptions
  #current: Snapshot | null = null
  #tenants: Tenants = NO_TENANTS
  #version = -1
  /** Counts the configurations: what was published under one does not stand for another. */
  #generation = 0
  #publishedGeneration = 0
  #problems: ReadonlySet<string> = new Set()
  #timer: NodeJS.Timeout | null = null
  #unlisten: (() => Promise<void>) | null = null
  /** The rebuild under way; never rejects. */
  #looking: Promise<void> = Promise.resolve()
  /** The rebuild that begins after it. */
  #queued: Promise<void> | null = null

  constructor(options: SnapshotPublisherOptions) {
    this.#options = options
  }

  get current(): Snapshot | null {
    return this.#current
  }

  /** The tenants of the current snapshot: who pays for what. */
  get tenants(): Tenants {
    return this.#tenants
  }

  /** Resolves once the first snapshot has been built. */
  async start(): Promise<void> {
    const { database } = this.#options
    await this.#rebuild()
    this.#unlisten = await database.listen('sluice_snapshot', () => {
      this.check()
    })
    const check = (): void => {
      this.check()
    }
    this.#timer = repeat(POLL_MS, check, this.#options.onFault).unref()
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#queued?.catch(() => undefined)
    await this.#looking
    await this.#unlisten?.()
  }

  /** Checks whether the store has changed, one check at a time. */
  check(): void {
    if (this.#queued === null) this.refresh().catch(this.#options.onFault)
  }

  /** Resolves when the state of the store at the time of the call is published; rejects when the store cannot be read. */
  refresh(): Promise<void> {
    // A rebuild under way may have read the store before this call, so this call waits for the next one.
    this.#queued ??= this.#looking.then(() => {
      this.#queued = null
      const look = this.#rebuild()
      this.#looking = look.catch(() => undefined)
      return look
    })
    return this.#queued
  }

  /** Publishes anew, also when the store has not changed: the configuration has. */
  rebuild(): Promise<void> {
    this.#generation += 1
    return this.refresh()
  }

  async #rebuild(): Promise<void> {
    const { database, book, seal, mayCapture, publish } = this.#options
    const generation = this.#generation
    const version = await snapshotVersion(database)
    if (version === this.#version && generation === this.#publishedGeneration) return
    const { parts, names, problems } = book.merge(await listStored(database, seal))
    const tenants = { ...(await listTenants(database)), modelNames: new ModelNames(names) }
    const keys = await listEntryKeysForSnapshot(database, tenants, mayCapture)
    this.#tell([...problems, ...problemsOf(tenants, parts, names)])
    const { providers, models, facts } = parts
    this.#version = version
    this.#publishedGeneration = generation
    this.#tenants = tenants
    this.#current = { version: version + 1, keys, providers, models, facts, names }
    publish(this.#current)
  }

  #tell(problems: readonly string[]): void {
    for (const problem of problems) if (!this.#problems.has(problem)) this.#options.onProblem(problem)
    this.#problems = new Set(problems)
  }
}

/** Budgets for names that nothing has any more. They limit nothing. */
function problemsOf({ modelBudgets }: Tenants, parts: SnapshotParts, names: CatalogueNames): string[] {
  if (modelBudgets.size === 0) return []
  const known = new KnownNames({ parts, names })
  return [...modelBudgets].flatMap(([owner, budgets]) =>
    budgets
      .flatMap(({ models }) => models.filter((name) => !known.has(name)))
      .map(
        (name) => `budget of ${owner}: there is no model and no group of models ${name}, so nothing counts against it`,
      ),
  )
}
