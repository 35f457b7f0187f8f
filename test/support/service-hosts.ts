import type { Simulator } from '../../src/simulator/simulator.ts'
import type { TestUpstream } from './gateway.ts'

/** The credential of a host; the simulator identifies the host by it. */
export const credentialOf = (host: string): string => `${host}-credential-1234`

interface Host {
  /** Path after the simulator's origin. */
  readonly base: string
  readonly dialect?: TestUpstream['dialect']
  readonly models: readonly string[]
  /** Number of keys; 1 by default. */
  readonly keys?: number
  /** Further members of the upstream. Absent: `provider` is the name of the host. */
  readonly more?: Record<string, unknown>
}

/** Hosts of embeddings, ranking, images and videos, as in the table of providers; the simulator stands in for each. */
const HOSTS: Readonly<Record<string, Host>> = {
  openai: { base: '/v1', models: ['openai-m', 'gpt-image-1', 'dall-e-3'] },
  plain: { base: '/v1', models: ['plain-m'], more: {} },
  voyage: { base: '/voyage/v1', models: ['voyage-m'] },
  jina: { base: '/jina/v1', models: ['jina-m'] },
  cohere: { base: '', dialect: 'cohere-chat', models: ['cohere-m'] },
  twice: { base: '', dialect: 'cohere-chat', models: ['twice-m'], more: { provider: 'cohere' }, keys: 2 },
  gemini: { base: '/v1beta/openai', models: ['gemini-m', 'imagen-m', 'veo-m'] },
  native: { base: '', dialect: 'gemini', models: ['native-m'], more: {} },
  vertex: {
    base: '/v1/projects/p/locations/l',
    dialect: 'gemini',
    models: ['vertex-m'],
    more: { auth: 'bearer' },
  },
  mistral: { base: '/mistral/v1', models: ['mistral-m'] },
  xai: { base: '/xai/v1', models: ['xai-m'] },
  together: { base: '/together/v1', models: ['together-m'] },
  siliconflow: { base: '/siliconflow/v1', models: ['siliconflow-m'] },
  openrouter: { base: '/openrouter/api/v1', models: ['openrouter-m'] },
  tei: {
    base: '/v1',
    models: ['tei-m'],
    more: { provider: 'tei', services: { rerank: [{ protocol: 'tei-rerank', base: '/tei' }] } },
  },
  qwen: { base: '/compatible-mode/v1', models: ['qwen-m'] },
  ark: { base: '/ark/api/v3', models: ['ark-m'] },
}

export function serviceHosts(simulator: Simulator): TestUpstream[] {
  return Object.entries(HOSTS).map(([id, { base, dialect = 'openai-chat', models, more, keys = 1 }]) => ({
    id,
    dialect,
    baseUrl: simulator.origin + base,
    keys: Array.from({ length: keys }, (_, i) => ({ credential: credentialOf(id) + (i === 0 ? '' : `-${i}`) })),
    models: [...models],
    more: more ?? { provider: id },
  }))
}
