import type { SluiceClient } from '../client/client.ts'
import type { RequestOf, ResultOf } from '../client/operations.ts'
import type { KeysBackend } from './keys-backend.ts'

/** Manages the keys of the logged-in user or of an enterprise, through a running gateway. */
export class ClientKeys implements KeysBackend {
  readonly #client: SluiceClient
  readonly #enterprise: string | null

  constructor(client: SluiceClient, enterprise: string | null) {
    this.#client = client
    this.#enterprise = enterprise
  }

  async list(): Promise<ReadonlyArray<ResultOf<'getKey'>>> {
    const id = this.#enterprise
    const query = { limit: 100 }
    const pages =
      id === null
        ? this.#client.list('listKeys', { query })
        : this.#client.list('listEnterpriseKeys', { params: { id }, query })
    const keys: Array<ResultOf<'getKey'>> = []
    for await (const key of pages) keys.push(key)
    return keys
  }

  create(body: RequestOf<'createEnterpriseKey'>['body']): Promise<ResultOf<'createKey'>> {
    const id = this.#enterprise
    return id === null
      ? this.#client.call('createKey', { body })
      : this.#client.call('createEnterpriseKey', { params: { id }, body })
  }

  toggle(id: string, enabled: boolean | null): Promise<ResultOf<'getKey'>> {
    const body = enabled === null ? {} : { enabled }
    return this.#enterprise === null
      ? this.#client.call('toggleKey', { params: { id }, body })
      : this.#client.call('toggleEnterpriseKey', { params: { id: this.#enterprise, keyId: id }, body })
  }

  rotate(id: string, graceSeconds: number | undefined): Promise<ResultOf<'createKey'>> {
    const body = graceSeconds === undefined ? {} : { grace_seconds: graceSeconds }
    return this.#enterprise === null
      ? this.#client.call('rotateKey', { params: { id }, body })
      : this.#client.call('rotateEnterpriseKey', { params: { id: this.#enterprise, keyId: id }, body })
  }

  async delete(id: string): Promise<void> {
    if (this.#enterprise === null) await this.#client.call('deleteKey', { params: { id } })
    else await this.#client.call('deleteEnterpriseKey', { params: { id: this.#enterprise, keyId: id } })
  }
}
