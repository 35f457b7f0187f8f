import { captureTenantOf, listCaptured, listCaptures } from '../store/captures.ts'
import type { ReadCapture } from '../store/captures.ts'
import type { Queryable } from '../store/database.ts'
import type { DataKeys } from './data-keys.ts'
import { openBody } from './sealed-body.ts'

/** A captured body, opened. */
export interface CapturedBody {
  /** Null: it was sealed with another secret of the installation. */
  readonly text: string | null
  readonly size: number
  readonly truncated: boolean
  readonly complete: boolean
  readonly redactions: number
  readonly expiresAt: Date
}

export interface CapturedBodiesOfRequest {
  readonly request: CapturedBody | null
  readonly answer: CapturedBody | null
}

/** A row of the request log, as far as captures depend on it. */
export interface CapturedRow {
  readonly id: string
  readonly enterpriseId: string | null
  readonly userId: string | null
}

/** Reads captured bodies. The caller has checked the right, and has noted the look. */
export class CapturedBodies {
  readonly #dataKeys: DataKeys

  constructor(dataKeys: DataKeys) {
    this.#dataKeys = dataKeys
  }

  /** The ids of those of the rows of which there are bodies. */
  idsOf(queryable: Queryable, rows: readonly CapturedRow[]): Promise<ReadonlySet<string>> {
    return listCaptured(queryable, rows.map(requestOf))
  }

  /** The bodies by the id of their request. Requests without any are left out. */
  async of(queryable: Queryable, rows: readonly CapturedRow[]): Promise<ReadonlyMap<string, CapturedBodiesOfRequest>> {
    const found = new Map<string, CapturedBodiesOfRequest>()
    const captures = rows.length === 0 ? [] : await listCaptures(queryable, rows.map(requestOf))
    for (const capture of captures) {
      const before = found.get(capture.requestId) ?? { request: null, answer: null }
      found.set(capture.requestId, { ...before, [capture.part]: await this.#opened(capture) })
    }
    return found
  }

  async #opened({ tenant, dataKey, digest, sealed, ...capture }: ReadCapture): Promise<CapturedBody> {
    const key = this.#dataKeys.open(tenant, dataKey)
    const text = key === null ? null : await openBody(key, { digest, sealed })
    const { size, truncated, complete, redactions, expiresAt } = capture
    return { text, size, truncated, complete, redactions, expiresAt }
  }
}

export function requestOf(row: CapturedRow): { readonly id: string; readonly tenant: string } {
  return { id: row.id, tenant: captureTenantOf(row) }
}
