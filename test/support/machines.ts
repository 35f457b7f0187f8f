import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { GatewayOptions, TestGateway } from './gateway.ts'
import { startGateway } from './gateway.ts'
import { createTestDatabase } from './test-database.ts'

export interface Machines {
  readonly gateways: readonly TestGateway[]
  /** An entry key without limits that all machines know. */
  readonly apiKey: string
  stop(): Promise<void>
}

export interface MachinesOptions extends Omit<GatewayOptions, 'database' | 'dataDir' | 'env'> {
  readonly count: number
  /** The `redis` section of the configuration file. */
  readonly redis: Record<string, unknown>
  /** URL of the Postgres; by default an empty database. */
  readonly databaseUrl?: string
}

/** Starts gateways that share one Postgres, one Redis, their keys and their secrets, like gateways on several machines. */
export async function startMachines({ count, redis, databaseUrl, ...options }: MachinesOptions): Promise<Machines> {
  const url = databaseUrl ?? (await createTestDatabase(inject('postgresUrl')))
  const apiKey = generateApiKey()
  const env = {
    SLUICE_SECRET_KEY_HASH: randomBytes(32).toString('base64'),
    SLUICE_SECRET_JWT: `test:${randomBytes(32).toString('base64')}`,
  }
  const gateways: TestGateway[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
  }
  try {
    for (let i = 0; i < count; i++) {
      gateways.push(
        await startGateway({
          ...options,
          database: { url },
          env,
          keys: [{ name: 'everywhere', key: apiKey, rpm: 1_000_000, tpm: 1_000_000_000 }, ...(options.keys ?? [])],
          config: { ...options.config, redis },
        }),
      )
    }
  } catch (cause) {
    await stop()
    throw cause
  }
  return { gateways, apiKey, stop }
}
