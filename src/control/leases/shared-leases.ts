import { setTimeout as elapsed } from 'node:timers/promises'
import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import { repeat } from '../../shared/runtime/repeat.ts'
import { RedisConnection } from '../store/redis-connection.ts'
import type { RedisConnectionOptions } from '../store/redis-connection.ts'
import { KeyHealthExchange } from './key-health-exchange.ts'
import { RedisAuthority } from './redis-authority.ts'
import type { RedisAuthorityOptions } from './redis-authority.ts'

const TICK_MS = 50
const READY_WAIT_MS = 4_000

export interface SharedLeasesOptions extends Omit<RedisAuthorityOptions, 'runner' | 'soon' | 'redisClock'> {
  readonly address: RedisConnectionOptions['address']
  readonly onNews: (news: KeyHealthEvent) => void
  readonly onConnectionError: (error: Error) => void
}

/** All that machines share through Redis: the leases, and what is known of upstream keys. */
export class SharedLeases {
  readonly authority: RedisAuthority
  readonly news: KeyHealthExchange
  readonly connection: RedisConnection
  readonly #timer: NodeJS.Timeout

  constructor(options: SharedLeasesOptions) {
    const { address, clock, onFault } = options
    const pokes = `${options.prefix}:poke:${options.node}`
    const runner = { run: (calls: Parameters<RedisConnection['run']>[0]) => this.connection.run(calls) }
    this.authority = new RedisAuthority({ ...options, runner, soon: setImmediate })
    this.news = new KeyHealthExchange({ ...options, runner })
    this.connection = new RedisConnection({
      address,
      channels: [pokes, this.news.channel],
      onMessage: (channel, message) => {
        try {
          if (channel === pokes) this.authority.poked(...(JSON.parse(message) as [string, string]))
          else this.news.heard(message)
        } catch (cause) {
          onFault(cause)
        }
      },
      onError: options.onConnectionError,
    })
    const tick = (): void => {
      this.authority.tick()
      this.news.tick(clock.now()).catch(onFault)
    }
    this.#timer = repeat(TICK_MS, tick, onFault)
  }

  /** Resolves when leases can be had, or Redis has been given the time to come. */
  async ready(): Promise<void> {
    const endMs = Date.now() + READY_WAIT_MS
    while (!this.authority.isServing && Date.now() < endMs) await elapsed(TICK_MS)
  }

  /** @param handsBack what this machine holds: when its fronts have ended */
  async close(handsBack: boolean): Promise<void> {
    clearInterval(this.#timer)
    if (handsBack) await this.authority.leave()
    this.connection.close()
  }
}
