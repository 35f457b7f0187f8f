import type { Clock } from '../../shared/runtime/clock.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'

/** Keeps the health events of upstream keys that still hold, for fronts that connect later. */
export class KeyHealthBoard {
  readonly #clock: Clock
  /** The latest event of each kind and key; `breaker-closed` removes `breaker-open` and `disabled`. */
  readonly #latest = new Map<string, KeyHealthEvent>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(event: KeyHealthEvent): void {
    if (event.kind === 'breaker-closed') {
      this.#latest.delete(`${event.keyId}/breaker-open`)
      this.#latest.delete(`${event.keyId}/disabled`)
    }
    // `shrink` is not kept: a concurrency limit that shrank grows again with use, so a new front does not need it.
    else if (event.kind !== 'shrink') this.#latest.set(`${event.keyId}/${event.kind}`, event)
  }

  current(): KeyHealthEvent[] {
    const nowMs = this.#clock.now()
    for (const [id, event] of this.#latest) if (event.untilMs <= nowMs) this.#latest.delete(id)
    return [...this.#latest.values()]
  }
}
