import { setTimeout as elapsed } from 'node:timers/promises'
import type { SluiceClient } from '../../client/client.ts'
import type { ItemOf } from '../../client/operations.ts'

/** A row of the request log. */
export type Row = ItemOf<'listLogs'>

/** The tag that the requests of one run of a scenario have in common. */
export const TAG = 'sluice-bench'

const PATIENCE_MS = 30_000
const POLL_MS = 200
/** A row that is one too many may be late, too. */
const QUIET_MS = 600
const PAGE = 100

/** Reads the request log of a gateway. */
export class Rows {
  readonly #client: SluiceClient
  readonly #operation: 'listLogs' | 'adminListLogs'

  private constructor(client: SluiceClient, operation: 'listLogs' | 'adminListLogs') {
    this.#client = client
    this.#operation = operation
  }

  /** Rejects with an ApiError when the gateway refuses the token. */
  static async open(client: SluiceClient): Promise<Rows> {
    const { role } = await client.call('me')
    return new Rows(client, role === 'admin' ? 'adminListLogs' : 'listLogs')
  }

  /** The rows of a tag, as soon as there are at least `count` and no more come; those that there are after 30 s. */
  async tagged(value: string, count: number, signal: AbortSignal): Promise<Row[]> {
    const endMs = Date.now() + PATIENCE_MS
    for (;;) {
      const rows = await this.#all(value)
      if (rows.length >= count) {
        await elapsed(QUIET_MS, undefined, { signal })
        return this.#all(value)
      }
      if (Date.now() > endMs) return rows
      await elapsed(POLL_MS, undefined, { signal })
    }
  }

  async #all(value: string): Promise<Row[]> {
    const rows: Row[] = []
    const query = { tag: [`${TAG}:${value}`], limit: PAGE }
    for await (const row of this.#client.list(this.#operation, { query })) rows.push(row)
    return rows
  }
}
