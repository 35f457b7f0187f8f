import type { RequestOf, ResultOf } from '../client/operations.ts'

/** What keys may be managed through. All reject where there is no such key. */
export interface KeysBackend {
  list(): Promise<ReadonlyArray<ResultOf<'getKey'>>>
  create(body: RequestOf<'createEnterpriseKey'>['body']): Promise<ResultOf<'createKey'>>
  /** @param enabled null: the other way */
  toggle(id: string, enabled: boolean | null): Promise<ResultOf<'getKey'>>
  rotate(id: string, graceSeconds: number | undefined): Promise<ResultOf<'createKey'>>
  delete(id: string): Promise<void>
}

export interface WhoseKeys {
  readonly user?: string
  readonly enterprise?: string
  readonly url?: string
}
