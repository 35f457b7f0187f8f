import type { Path } from '../../../shared/config/config-error.ts'
import { isObject } from '../../../shared/config/is-object.ts'
import type { Remarks } from '../draft.ts'
import { ownFacts } from './facts.ts'
import type { DraftFacts } from './facts.ts'
import type { References } from './reference.ts'
import { targetOf } from './target.ts'
import type { Host, Params } from './host.ts'

/** An entry of `model_list` that Sluice can serve. */
export interface Deployment {
  readonly path: Path
  /** `model_name`: what clients ask for. */
  readonly group: string
  readonly host: Host
  readonly label: string
  readonly credential: string | null
  readonly upstreamModel: string
  readonly shares: Readonly<Record<ShareName, number | undefined>>
  readonly priority: number
  readonly maxConcurrency: number | undefined
  readonly facts: DraftFacts | null
}

/** The weights by which LiteLLM chooses a deployment, the first that is set counts. */
export const SHARES = ['weight', 'rpm', 'tpm'] as const
export type ShareName = (typeof SHARES)[number]

const MODES = new Set([
  'chat',
  'completion',
  'embedding',
  'image_generation',
  'rerank',
  'responses',
  'video_generation',
])

const LIMITED = 'Sluice limits no deployment by the minute: it follows the rate limits that the provider reports'
const REQUEST_FIELD = 'Sluice adds no fields to requests: clients send it'
const OWN_BUDGET = 'budgets are of keys, departments and enterprises, not of upstreams'

const LOST: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['temperature', 'top_p', 'top_k', 'max_tokens', 'max_completion_tokens', 'stop', 'seed', 'n', 'user']
      .concat(['presence_penalty', 'frequency_penalty', 'response_format', 'reasoning_effort', 'thinking', 'stream'])
      .concat(['extra_body', 'metadata', 'input_type', 'dimensions', 'cache_control_injection_points'])
      .map((name) => [name, REQUEST_FIELD]),
  ),
  max_budget: OWN_BUDGET,
  budget_duration: OWN_BUDGET,
  stream_timeout: 'streams have the same timeouts as other answers',
  max_retries: 'upstream.max_attempts holds for all upstreams',
  num_retries: 'upstream.max_attempts holds for all upstreams',
  cooldown_time: "a key's cooldown follows retry-after, else it grows from one second",
  tags: 'requests are not routed by tags',
  mock_response: 'Sluice answers no request itself; the simulator does for tests',
  ssl_verify: 'certificates of upstreams are always verified',
  organization: 'is for OpenAI alone',
}
const ELSEWHERE = new Set(['input_cost_per_token', 'output_cost_per_token', 'cache_read_input_token_cost'])
  .add('cache_creation_input_token_cost')
  .add('litellm_credential_name')
  .add('use_in_pass_through')

const NUMBERS = new Set(['weight', 'order', 'max_parallel_requests'])
const NO_NUMBER = 'is no number of 0 or more in the file itself'

export interface ReadContext {
  readonly references: References
  readonly remarks: Remarks
  /** `credential_list` of the file, by name. */
  readonly credentials: ReadonlyMap<string, Params>
}

/** Reads an entry of `model_list`. Null when Sluice cannot serve it. */
export function readDeployment(entry: unknown, path: Path, context: ReadContext): Deployment | null {
  const { references, remarks } = context
  const { model_name: group, litellm_params: own, model_info: info, ...others } = isObject(entry) ? entry : {}
  if (typeof group !== 'string' || !isObject(own)) {
    remarks.lose(path, 'the entry lacks model_name or litellm_params')
    return null
  }
  // LiteLLM also reads rpm and tpm beside litellm_params.
  const params = { ...others, ...named(own, path, context), ...own }
  const facts = isObject(info) ? info : {}
  const mode = facts['mode']
  const target =
    typeof mode === 'string' && !MODES.has(mode)
      ? { reason: `Sluice has no endpoint for the mode "${mode}"` }
      : params['mock_response'] !== undefined
        ? { reason: LOST['mock_response'] ?? '' }
        : targetOf(params, references)
  const lack = 'reason' in target ? target.reason : patternLack(group, target.upstreamModel)
  if ('reason' in target || lack !== null) {
    remarks.lose([...path, 'litellm_params', 'model'], `the deployment of "${group}" is left out: ${lack ?? ''}`)
    return null
  }
  const at = (name: string): Path => (name in own ? [...path, 'litellm_params', name] : [...path, name])
  const host = { ...target.host, ...hostOptions(params, target.host, { ...context, at }) }
  const taken = new Set([...target.taken, ...HOST_PARAMS, ...SHARES, 'order', 'max_parallel_requests', ...ELSEWHERE])
  for (const name of Object.keys(params)) {
    const changed = target.changed?.[name]
    if (changed !== undefined) remarks.change(at(name), changed)
    if (name === 'rpm' || name === 'tpm') remarks.lose(at(name), LIMITED)
    else if (!taken.has(name)) remarks.lose(at(name), LOST[name] ?? 'Sluice has no such setting')
    else if (NUMBERS.has(name) && isGiven(params[name]) && references.number(params[name]) === undefined)
      remarks.lose(at(name), NO_NUMBER)
    else if (name === 'organization' && host.provider !== 'openai') remarks.lose(at(name), LOST['organization'] ?? '')
  }
  return {
    path,
    group,
    host,
    label: target.label,
    credential: target.credential,
    upstreamModel: target.upstreamModel,
    shares: {
      weight: references.number(params['weight']),
      rpm: references.number(params['rpm']),
      tpm: references.number(params['tpm']),
    },
    priority: references.number(params['order']) ?? 0,
    maxConcurrency: references.number(params['max_parallel_requests']),
    facts: ownFacts(
      target.upstreamModel,
      target.host.provider,
      { params, info: facts },
      [...path, 'model_info'],
      remarks,
    ),
  }
}

/** The values of the credential that the deployment names. */
function named(params: Params, path: Path, { credentials, remarks }: ReadContext): Params {
  const name = params['litellm_credential_name']
  if (typeof name !== 'string') return {}
  const values = credentials.get(name)
  if (values === undefined) {
    remarks.lose(
      [...path, 'litellm_params', 'litellm_credential_name'],
      'credential_list has no credential of this name',
    )
  }
  return values ?? {}
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

/** The reason why Sluice cannot match the names; null: it can. */
function patternLack(group: string, upstreamModel: string): string | null {
  if (/\*./.test(group) || /\*./.test(upstreamModel)) return 'a "*" may only be the last character of a name'
  if (upstreamModel.endsWith('*') && !group.endsWith('*'))
    return 'the name of the model is a pattern, model_name is not'
  return null
}

const HOST_PARAMS = ['timeout', 'organization', 'headers', 'extra_headers', 'drop_params', 'additional_drop_params']

interface OptionContext extends ReadContext {
  readonly at: (name: string) => Path
}

function hostOptions(params: Params, host: Host, { references, remarks, at }: OptionContext): Partial<Host> {
  const headers: Record<string, string> = {}
  for (const name of ['headers', 'extra_headers']) {
    for (const [header, value] of Object.entries(isObject(params[name]) ? params[name] : {})) {
      const text = references.text(value)
      if (/^(authorization|x-api-key)$/i.test(header)) {
        remarks.lose([...at(name), header], 'the header belongs to the credential: give api_key')
      } else if (text !== undefined) headers[header.toLowerCase()] = text
    }
  }
  const organization = references.text(params['organization'])
  if (organization !== undefined && host.provider === 'openai') headers['openai-organization'] = organization
  const ms = milliseconds(params['timeout'], references)
  if (params['timeout'] !== undefined && ms === undefined) remarks.lose(at('timeout'), 'is not a number of seconds')
  if (params['drop_params'] === false) remarks.change(at('drop_params'), DROPS)
  const dropped: unknown = params['additional_drop_params']
  const names = Array.isArray(dropped) ? dropped.filter((name): name is string => typeof name === 'string') : []
  const plain = names.filter((name) => /^[A-Za-z0-9_]+$/.test(name))
  if (plain.length < names.length)
    remarks.lose(at('additional_drop_params'), 'Sluice drops whole fields, not parts of them')
  return {
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(ms === undefined ? {} : { timeouts: { first_byte_ms: ms, idle_ms: ms } }),
    ...(plain.length === 0 ? {} : { quirks: { refused_fields: plain } }),
  }
}

export const DROPS =
  'Sluice always drops fields that a model does not take and the answer does not depend on, and reports them'

/** Seconds as milliseconds, at least one; undefined for anything else. */
export function milliseconds(seconds: unknown, references: References): number | undefined {
  const number = references.number(seconds)
  return number === undefined ? undefined : Math.min(2_147_483_647, Math.max(1, Math.round(number * 1000)))
}
