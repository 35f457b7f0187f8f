import type { Clock } from '../../shared/runtime/clock.ts'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'

/** What fronts have learned about upstream keys and still holds, for fronts that come later. */
export class KeyHealthBoard {
  readonly #clock: Clock
  /** The latest of each kind of each key; a closed breaker ends an open one. */
  readonly #latest = new Map<string, KeyHealthEvent>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(news: KeyHealthEvent): void {
    if (news.kind === 'breaker-closed') this.#latest.delete(`${news.keyId}/breaker-open`)
    // What was shrunk grows again by use: a front that begins anew has nothing to learn from it.
    else if (news.kind !== 'shrink') this.#latest.set(`${news.keyId}/${news.kind}`, news)
  }

  current(): KeyHealthEvent[] {
    const nowMs = this.#clock.now()
    for (const [id, news] of this.#latest) if (news.untilMs <= nowMs) this.#latest.delete(id)
    return [...this.#latest.values()]
  }
}
