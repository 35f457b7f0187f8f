import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server'

type Listener = (event: ServerEvent) => void

/** The events of `subscriptions/listen`, for one request at a time: the SDK would tell all of them. */
export class ListenBus implements ServerEventBus {
  readonly #request = new AsyncLocalStorage<string>()
  readonly #listeners = new Map<string, Set<Listener>>()

  /** Serves a request whose subscriptions are told by `tell` with the same id. */
  serve<Result>(requestId: string, work: () => Result): Result {
    return this.#request.run(requestId, work)
  }

  /** Tells the client of a request that its tools have changed. */
  tell(requestId: string): void {
    for (const listener of this.#listeners.get(requestId) ?? []) listener({ kind: 'tools_list_changed' })
  }

  /** Nothing is for all. */
  publish(): void {
    // `tell` has the events.
  }

  subscribe(listener: Listener): () => void {
    const id = this.#request.getStore() ?? ''
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(id)
    }
  }
}
