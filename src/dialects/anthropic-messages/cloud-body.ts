import type { BuiltRequest, Target } from '../../shared/core/codec.ts'
import type { Conversation } from '../../shared/core/conversation.ts'
import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects } from '../common/fields.ts'
import { buildRequest } from './build-request.ts'
import { FIELDS_OF_BETAS, cloudBetas, losesBetas } from './cloud-betas.ts'
import { cloudConversation } from './cloud-conversation.ts'

/** Fields that the clouds refuse, mostly those of first-party services. `FIELDS_OF_BETAS` allows some of them. */
const FIRST_PARTY = new Set([
  'service_tier',
  'cache_control',
  'container',
  'context_management',
  'mcp_servers',
  'inference_geo',
  'fallbacks',
  'fallback_credit_token',
  'speed',
  'diagnostics',
])
const FIRST_PARTY_OF_TOOLS = new Set(['defer_loading', 'eager_input_streaming'])
/** The body's member for beta flags, as the clouds' own clients write it. Its flags are filtered and written again. */
const BETAS = 'anthropic_beta'

export interface Cloud {
  /** Version of the dialect, sent in the body. */
  readonly version: string
  /** Members that the path already contains. */
  readonly inPath: readonly string[]
  /** Where the beta flags go. */
  readonly betasIn: 'body' | 'header'
}

/** Builds a messages body that a cloud accepts. */
export function buildCloudRequest(conversation: Conversation, target: Target, cloud: Cloud): BuiltRequest {
  const dropped = new Set<string>()
  const built = buildRequest(cloudConversation(conversation, dropped), target)
  for (const name of built.dropped) dropped.add(name)
  const asked = [...(target.betas ?? []), ...betasOfBody(built.body[BETAS])]
  const betas = cloudBetas(asked)
  if (losesBetas(asked)) dropped.add('anthropic-beta')

  const body: Record<string, unknown> = { anthropic_version: cloud.version }
  if (cloud.betasIn === 'body' && betas.length > 0) body[BETAS] = betas
  for (const name in built.body) {
    if (name === BETAS || cloud.inPath.includes(name)) continue
    if (FIRST_PARTY.has(name) && !isAllowedBy(betas, name)) dropped.add(name)
    else body[name] = built.body[name]
  }
  if (Array.isArray(body['tools'])) {
    body['tools'] = objects(body['tools']).map((tool) => withoutFirstParty(tool, betas, dropped))
  }
  return { body, dropped: [...dropped], restoration: built.restoration }
}

function betasOfBody(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((flag) => typeof flag === 'string') : []
}

function isAllowedBy(betas: readonly string[], field: string): boolean {
  return FIELDS_OF_BETAS[field]?.some((flag) => betas.includes(flag)) === true
}

function withoutFirstParty(tool: JsonObject, betas: readonly string[], dropped: Set<string>): JsonObject {
  const kept: Record<string, unknown> = {}
  for (const name in tool) {
    const field = `tools.${name}`
    if (FIRST_PARTY_OF_TOOLS.has(name) && !isAllowedBy(betas, field)) dropped.add(field)
    else kept[name] = tool[name]
  }
  return kept
}
