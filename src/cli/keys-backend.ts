import type { RequestOf, ResultOf } from '../client/operations.ts'

/** A way to manage keys. Each method rejects when the key does not exist. */
export interface KeysBackend {
  list(): Promise<ReadonlyArray<ResultOf<'getKey'>>>
  create(body: RequestOf<'createEnterpriseKey'>['body']): Promise<ResultOf<'createKey'>>
  /** @param enabled null: the opposite of the current state */
  toggle(id: string, enabled: boolean | null): Promise<ResultOf<'getKey'>>
  rotate(id: string, graceSeconds: number | undefined): Promise<ResultOf<'createKey'>>
  delete(id: string): Promise<void>
}

export interface WhoseKeys {
  readonly user?: string
  readonly enterprise?: string
  readonly url?: string
  /** Use the gateway of SLUICE_URL or of the last login. */
  readonly remote?: true
}
