import { startSimulator } from '../../src/simulator/simulator.ts'
import type { TestGateway } from './gateway.ts'
import { startMachines } from './machines.ts'
import { ManagementClient } from './management-client.ts'
import { ONE_REDIS } from './redis-kinds.ts'

export interface TwoMachines {
  readonly gateways: readonly TestGateway[]
  /** An entry key without limits that both know. */
  readonly apiKey: string
  /** A client of the first one. */
  readonly admin: ManagementClient
  stop(): Promise<void>
}

/** Two gateways with two fronts each, one Postgres, one Redis, and a simulator that serves the model `m`. */
export async function startTwoMachines(config: Record<string, unknown> = {}): Promise<TwoMachines> {
  const simulator = await startSimulator()
  const redis = await ONE_REDIS.start()
  const machines = await startMachines({
    count: 2,
    redis: redis.settings,
    fronts: 2,
    upstreams: [{ dialect: 'openai-chat', baseUrl: `${simulator.origin}/v1`, models: ['m'] }],
    config,
  })
  const [first] = machines.gateways
  if (first === undefined) throw new Error('no machine')
  return {
    gateways: machines.gateways,
    apiKey: machines.apiKey,
    admin: await ManagementClient.ofAdmin(first),
    stop: async () => {
      await machines.stop()
      await redis.stop()
      await simulator.close()
    },
  }
}
