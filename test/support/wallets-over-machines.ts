import type { Simulator } from '../../src/simulator/simulator.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import type { Machines } from './machines.ts'
import { startMachines } from './machines.ts'
import type { RedisKind, SharedRedis } from './redis-kinds.ts'
import { TenantStore } from './tenant-store.ts'
import type { Prepaid } from './wallet-rush.ts'
import { expectExactWallets, fillWallets, prepaidEnterprises, RUSH_CONFIG, rushKeys } from './wallet-rush.ts'

/** Two machines that share a Redis and the wallets of prepaid enterprises. */
export class WalletMachines {
  readonly #simulator: Simulator
  readonly #redis: SharedRedis
  readonly #machines: Machines
  readonly #store: TenantStore
  readonly #enterprises: readonly Prepaid[]

  private constructor(parts: {
    simulator: Simulator
    redis: SharedRedis
    machines: Machines
    store: TenantStore
    enterprises: readonly Prepaid[]
  }) {
    this.#simulator = parts.simulator
    this.#redis = parts.redis
    this.#machines = parts.machines
    this.#store = parts.store
    this.#enterprises = parts.enterprises
  }

  static async start({
    kind,
    wallets,
  }: {
    readonly kind: RedisKind
    readonly wallets: number
  }): Promise<WalletMachines> {
    const enterprises = prepaidEnterprises(wallets)
    const simulator = await startSimulator()
    const redis = await kind.start()
    const store = await TenantStore.make((database) => fillWallets(database, enterprises))
    const machines = await startMachines({
      count: 2,
      redis: redis.settings,
      ...(store.url === null ? {} : { databaseUrl: store.url }),
      fronts: 1,
      upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
      keys: rushKeys(enterprises),
      config: RUSH_CONFIG,
    })
    return new WalletMachines({ simulator, redis, machines, store, enterprises })
  }

  /** See `expectExactWallets`; also ends the machines. */
  expectExactWallets(): Promise<void> {
    return expectExactWallets(this.#machines.gateways, this.#store, this.#enterprises)
  }

  async stop(): Promise<void> {
    await this.#machines.stop()
    await this.#redis.stop()
    await this.#simulator.close()
    this.#store.remove()
  }
}
