import { eventually } from './eventually.ts'
import { TestRedis } from './redis.ts'

const MASTERS = 3
const SLOTS = 16_384

/** A Redis Cluster of three masters without replicas. */
export class TestRedisCluster {
  readonly masters: readonly TestRedis[]

  private constructor(masters: readonly TestRedis[]) {
    this.masters = masters
  }

  static async start(): Promise<TestRedisCluster> {
    const masters: TestRedis[] = []
    for (let i = 0; i < MASTERS; i++) masters.push(await TestRedis.start(['--cluster-enabled', 'yes']))
    const [first] = masters
    for (const [index, master] of masters.entries()) {
      const from = Math.ceil((index * SLOTS) / MASTERS)
      const to = Math.ceil(((index + 1) * SLOTS) / MASTERS) - 1
      await master.command(async (redis) => {
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to)
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0)
      })
    }
    const cluster = new TestRedisCluster(masters)
    await eventually(
      async () => {
        for (const master of masters) {
          const info = String(await master.command((redis) => redis.call('CLUSTER', 'INFO')))
          if (!info.includes('cluster_state:ok') || !info.includes(`cluster_size:${MASTERS}`)) throw new Error(info)
        }
      },
      { timeoutMs: 30_000 },
    )
    return cluster
  }

  get addresses(): string[] {
    return this.masters.map(({ port }) => `127.0.0.1:${port}`)
  }

  async stop(): Promise<void> {
    await Promise.all(this.masters.map((master) => master.stop()))
  }
}
