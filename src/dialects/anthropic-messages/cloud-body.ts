import type { BuiltRequest } from '../../core/codec.ts'
import type { JsonObject } from '../../core/json-object.ts'
import { objects } from '../fields.ts'

/** Fields that the clouds refuse, mostly those of first-party services; what a beta adds is told apart by its flag. */
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

/** Flags that the clouds know; any other fails the whole request. */
const KNOWN_BETAS = new Set([
  'computer-use-2025-01-24',
  'token-efficient-tools-2025-02-19',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'dev-full-thinking-2025-05-14',
  'context-1m-2025-08-07',
])

/** Of the flags in `anthropic-beta`, those that a cloud may be given. */
export function cloudBetas(header: string | null): readonly string[] {
  if (header === null) return []
  return header
    .split(',')
    .map((flag) => flag.trim())
    .filter((flag) => KNOWN_BETAS.has(flag))
}

/** A messages body as a cloud takes it: `version` in it, the members of `removed` not. */
export function cloudBody(built: BuiltRequest, version: string, removed: readonly string[]): BuiltRequest {
  const dropped = new Set(built.dropped)
  const body: Record<string, unknown> = { anthropic_version: version }
  for (const name in built.body) {
    if (removed.includes(name)) continue
    if (FIRST_PARTY.has(name)) dropped.add(name)
    else body[name] = built.body[name]
  }
  if (Array.isArray(body['tools'])) {
    body['tools'] = objects(body['tools']).map((tool) => withoutFirstParty(tool, dropped))
  }
  return { body, dropped: [...dropped], restoration: built.restoration }
}

function withoutFirstParty(tool: JsonObject, dropped: Set<string>): JsonObject {
  const kept: Record<string, unknown> = {}
  for (const name in tool) {
    if (FIRST_PARTY_OF_TOOLS.has(name)) dropped.add(`tools.${name}`)
    else kept[name] = tool[name]
  }
  return kept
}
