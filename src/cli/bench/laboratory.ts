import { fileURLToPath } from 'node:url'
import { SluiceClient } from '../../client/client.ts'
import { generateApiKey } from '../../shared/core/api-key.ts'
import { startGateway, startSimulator } from './programs.ts'
import { Replicas } from './replicas.ts'
import { Rows } from './rows.ts'
import type { Target } from './target.ts'

const DIST = fileURLToPath(new URL('../../', import.meta.url))
const KEYS = 100
const MODEL = 'sim-gpt'
const MANY = { max_concurrency: 100_000 }
/** More requests at once than this make affinity choose another replica. */
const REPLICA_CONCURRENCY = 16
/** The policy of the gateway: the replicas that it chooses from. */
export const SLUICE = 'sluice'

/** Starts a gateway with one front, the simulator and replicas with prompt caches, on free ports of this machine. */
export async function startLaboratory(): Promise<Target> {
  const stops: Array<() => Promise<void> | void> = []
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0)) await one()
  }
  try {
    const replicas = await Replicas.start()
    stops.unshift(() => {
      replicas.close()
    })
    const simulator = await startSimulator(DIST)
    stops.unshift(() => simulator.stop())
    const key = generateApiKey()
    const limitedKey = generateApiKey()
    const keys = Array.from({ length: KEYS }, generateApiKey)
    const failoverCredentials = ['bench-failover-1', 'bench-failover-2'] as const
    const gateway = await startGateway({
      dist: DIST,
      key,
      config: {
        server: { host: '127.0.0.1', port: 0, fronts: 1, drain_announce_ms: 0 },
        log: { level: 'error' },
        // Refused keys are a part of the load.
        limits: { address_failures_per_minute: 1_000_000 },
        keys: [
          { name: 'bench', key },
          { name: 'bench-limited', key: limitedKey, rpm: 1 },
          ...keys.map((one, index) => ({ name: `bench-${index + 1}`, key: one })),
        ],
        upstreams: [
          {
            id: 'chat',
            dialect: 'openai-chat',
            base_url: simulator.baseUrl,
            keys: [{ credential: 'bench-chat', ...MANY }],
            models: [MODEL],
          },
          {
            id: 'messages',
            dialect: 'anthropic-messages',
            base_url: simulator.baseUrl,
            keys: [{ credential: 'bench-messages', ...MANY }],
            models: ['sim-translated'],
          },
          {
            id: 'failover',
            dialect: 'openai-chat',
            base_url: simulator.baseUrl,
            keys: failoverCredentials.map((credential) => ({ credential, ...MANY })),
            models: ['sim-failover'],
          },
          {
            id: 'replicas',
            dialect: 'openai-chat',
            base_url: replicas.baseUrl,
            keys: replicas
              .credentialsOf(SLUICE)
              .map((credential) => ({ credential, max_concurrency: REPLICA_CONCURRENCY })),
            models: ['bench-replica'],
          },
        ],
      },
    })
    stops.unshift(() => gateway.stop())
    const client = new SluiceClient({ baseUrl: gateway.url, token: gateway.admin.token })
    return {
      kind: 'laboratory',
      url: gateway.url,
      key,
      model: MODEL,
      isSimulated: true,
      pid: gateway.pid,
      rows: await Rows.open(client),
      keys,
      laboratory: {
        simulatorUrl: simulator.baseUrl.replace(/\/v1$/, ''),
        translatedModel: 'sim-translated',
        failoverModel: 'sim-failover',
        failoverCredentials,
        limitedKey,
        replicas,
        replicaModel: 'bench-replica',
        settled: (requestId) => gateway.settled(requestId),
      },
      stop,
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}
