import { resolve } from 'node:path'
import * as programs from '../../src/cli/bench/programs.ts'
import type { Gateway, Program } from '../../src/cli/bench/programs.ts'
import { generateApiKey } from '../../src/shared/core/api-key.ts'

const DIST = resolve('dist')
/** A model whose upstream speaks the messages protocol. */
export const TRANSLATED_MODEL = 'sim-translated'

/** Starts the simulator of this checkout. @param niceness a higher value gives way to other processes */
export function startSimulator(niceness = 0): Promise<Program> {
  return programs.startSimulator(DIST, niceness)
}

export interface GatewayChoice {
  readonly upstreamBaseUrl: string
  /** Upstream of `TRANSLATED_MODEL`; default: `upstreamBaseUrl`. */
  readonly otherBaseUrl?: string
  /** Directory for a CPU profile of each process. */
  readonly profileDir?: string | null
  /** Members of the entry key, as in the configuration file. */
  readonly key?: object
  /** Further sections of the configuration file. */
  readonly config?: object
  /** Directory of the build; default: that of this checkout. */
  readonly dist?: string
}

/** Starts a gateway with one front. */
export function startGateway(choice: GatewayChoice): Promise<Gateway> {
  const { upstreamBaseUrl, otherBaseUrl = upstreamBaseUrl, profileDir = null, dist = DIST } = choice
  const key = generateApiKey()
  const keys = [{ credential: 'bench', max_concurrency: 100_000 }]
  return programs.startGateway({
    dist,
    key,
    nodeOptions: profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
    config: {
      server: { host: '127.0.0.1', port: 0, fronts: 1, drain_announce_ms: 0 },
      log: { level: 'warn' },
      keys: [{ name: 'bench', key, ...choice.key }],
      upstreams: [
        { id: 'bench', dialect: 'openai-chat', base_url: upstreamBaseUrl, keys, models: ['sim-gpt'] },
        { id: 'other', dialect: 'anthropic-messages', base_url: otherBaseUrl, keys, models: [TRANSLATED_MODEL] },
      ],
      ...choice.config,
    },
  })
}
