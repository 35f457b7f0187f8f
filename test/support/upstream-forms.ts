import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import type { TestUpstream } from './gateway.ts'

interface UpstreamForm {
  readonly dialect: UpstreamDialectName
  /** Path after the origin of the simulator. */
  readonly path: string
  readonly more?: Record<string, unknown>
}

/** Every upstream protocol, by the name of the model that is served with it. */
export const UPSTREAM_FORMS = {
  'openai-chat': { dialect: 'openai-chat', path: '/v1' },
  'azure-deployment': { dialect: 'openai-chat', path: '', more: { api_version: '2024-10-21', auth: 'api-key' } },
  'azure-v1': { dialect: 'openai-chat', path: '/openai/v1', more: { auth: 'api-key' } },
  'anthropic-messages': { dialect: 'anthropic-messages', path: '/v1' },
  'anthropic-vertex': { dialect: 'anthropic-vertex', path: '/v1/projects/our-project/locations/us-east5' },
  'bedrock-invoke': { dialect: 'bedrock-invoke', path: '' },
  'bedrock-converse': { dialect: 'bedrock-converse', path: '' },
  gemini: { dialect: 'gemini', path: '' },
  'cohere-chat': { dialect: 'cohere-chat', path: '' },
} as const satisfies Record<string, UpstreamForm>

export const FORM_NAMES = Object.keys(UPSTREAM_FORMS) as readonly (keyof typeof UPSTREAM_FORMS)[]

/** An upstream for each protocol, at one simulator. */
export function upstreamsOfAllForms(origin: string): TestUpstream[] {
  return Object.entries<UpstreamForm>(UPSTREAM_FORMS).map(([id, { dialect, path, more }]) => ({
    id,
    dialect,
    baseUrl: origin + path,
    models: [id],
    ...(more === undefined ? {} : { more }),
  }))
}
