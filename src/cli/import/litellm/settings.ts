import { generateApiKey, isApiKey } from '../../../shared/core/api-key.ts'
import type { Path } from '../../../shared/config/config-error.ts'
import { isObject } from '../../../shared/config/is-object.ts'
import { setAt } from '../draft.ts'
import type { DraftConfig, Remarks } from '../draft.ts'
import { DROPS, milliseconds } from './deployments.ts'
import { isReference } from './reference.ts'
import type { References } from './reference.ts'

export interface SettingsContext {
  readonly draft: DraftConfig
  readonly references: References
  readonly remarks: Remarks
}

type Rule =
  /** The reason why Sluice has no such setting. */
  | string
  /** Returns the reason when the value cannot be carried. */
  | ((value: unknown, context: SettingsContext, path: Path) => string | null)

const numberAt =
  (...at: readonly string[]): Rule =>
  (value, { draft, references }) => {
    const number = references.number(value)
    if (number === undefined || number < 1) return 'is not a number of 1 or more'
    setAt(draft, at, Math.round(number))
    return null
  }

const mebibytesAt =
  (...at: readonly string[]): Rule =>
  (value, { draft, references }) => {
    const number = references.number(value)
    if (number === undefined) return 'is not a number'
    setAt(draft, at, Math.round(number * 1_048_576))
    return null
  }

const timeout: Rule = (value, { draft, references }) => {
  const ms = milliseconds(value, references)
  if (ms === undefined) return 'is not a number of seconds'
  setAt(draft, ['upstream', 'timeouts', 'first_byte_ms'], ms)
  setAt(draft, ['upstream', 'timeouts', 'idle_ms'], ms)
  return null
}

const retries: Rule = (value, { draft, references }) => {
  const number = references.number(value)
  if (number === undefined) return 'is not a number'
  setAt(draft, ['upstream', 'max_attempts'], Math.min(10, Math.round(number) + 1))
  return number > 9 ? 'Sluice makes 10 attempts at most' : null
}

/** Settings that are read elsewhere: fallbacks.ts, litellm.ts. */
const elsewhere: Rule = () => null

const CALLBACKS = 'Sluice has a request log, GET /metrics for Prometheus and W3C traces, and calls no other services'
const OVERFLOW =
  'a request that is too long for its model, or that a provider refuses for its content, is answered as refused'
const CACHE = 'Sluice keeps no answers; prompt caches of providers are used'
const COOLDOWN = "a key's cooldown follows retry-after, else its breaker opens after five failures in a row"
const BUDGETS = 'budgets are of keys, departments and enterprises'
const KEYS_OWN = 'set it on keys, departments or enterprises of Sluice'

const ROUTER: Readonly<Record<string, Rule>> = {
  fallbacks: elsewhere,
  default_fallbacks: elsewhere,
  context_window_fallbacks: OVERFLOW,
  content_policy_fallbacks: OVERFLOW,
  model_group_alias: elsewhere,
  num_retries: retries,
  timeout,
  stream_timeout: 'streams have the same timeouts as other answers',
  allowed_fails: COOLDOWN,
  allowed_fails_policy: COOLDOWN,
  cooldown_time: COOLDOWN,
  disable_cooldowns: COOLDOWN,
  retry_after: 'a retry follows retry-after',
  retry_policy: 'src/front/gateway/failure-rules.ts decides which failures are retried',
  model_group_retry_policy: 'one number of attempts holds for all models',
  routing_strategy: (value, { remarks }, path) => {
    if (value === 'simple-shuffle') return null
    remarks.change(path, 'Sluice draws two keys by weight, and takes the one with less load and lower latency')
    return null
  },
  routing_strategy_args: 'the scheduler of Sluice has no arguments',
  enable_pre_call_checks: 'the provider checks the length of a prompt',
  provider_budget_config: BUDGETS,
  default_max_parallel_requests: 'set max_concurrency of upstream keys',
  default_litellm_params: 'Sluice adds no fields to requests',
  redis_host: elsewhere,
  redis_port: elsewhere,
  redis_password: elsewhere,
  redis_url: (value, context) => redisUrl(context.references.text(value), context),
  enable_tag_filtering: 'requests are not routed by tags',
  tag_filtering_match_any: 'requests are not routed by tags',
  max_fallbacks: 'all fallbacks of a model are tried',
  set_verbose: 'LOG_LEVEL=debug logs more',
  debug_level: 'LOG_LEVEL=debug logs more',
}

const LITELLM: Readonly<Record<string, Rule>> = {
  fallbacks: elsewhere,
  default_fallbacks: elsewhere,
  context_window_fallbacks: OVERFLOW,
  content_policy_fallbacks: OVERFLOW,
  model_alias_map: elsewhere,
  num_retries: retries,
  request_timeout: timeout,
  allowed_fails: COOLDOWN,
  cooldown_time: COOLDOWN,
  drop_params: (value, { remarks }, path) => {
    if (value === false) remarks.change(path, DROPS)
    return null
  },
  modify_params: (value, { remarks }, path) => {
    if (value !== true) remarks.change(path, 'Sluice translates fields where an upstream needs it')
    return null
  },
  max_budget: elsewhere,
  budget_duration: elsewhere,
  max_user_budget: BUDGETS,
  max_end_user_budget: BUDGETS,
  max_internal_user_budget: BUDGETS,
  internal_user_budget_duration: BUDGETS,
  default_internal_user_params: limitsOf('user_defaults'),
  default_key_generate_params: limitsOf('key_defaults'),
  upperbound_key_generate_params: 'the rights of roles decide who may make which keys',
  default_team_settings: KEYS_OWN,
  default_team_params: KEYS_OWN,
  max_parallel_requests: 'set max_concurrency of upstream keys',
  cache: (value) => (value === true ? CACHE : null),
  cache_params: CACHE,
  callbacks: CALLBACKS,
  success_callback: CALLBACKS,
  failure_callback: CALLBACKS,
  service_callback: CALLBACKS,
  service_callbacks: CALLBACKS,
  langfuse_default_tags: CALLBACKS,
  turn_off_message_logging: elsewhere,
  redact_user_api_key_info: elsewhere,
  guardrails: 'Sluice has no guardrails',
  set_verbose: 'LOG_LEVEL=debug logs more',
  json_logs: elsewhere,
}

const GENERAL: Readonly<Record<string, Rule>> = {
  master_key: elsewhere,
  database_url: 'Sluice has a schema of its own: set DATABASE_URL to another, empty database',
  database_connection_pool_limit: numberAt('database', 'max_connections'),
  max_request_size_mb: mebibytesAt('limits', 'max_body_bytes'),
  max_response_size_mb: mebibytesAt('limits', 'max_answer_bytes'),
  global_max_parallel_requests: 'limits.max_requests_in_flight is for each front process',
  max_parallel_requests: 'set max_concurrency of upstream keys',
  store_model_in_db: 'models of the database of LiteLLM are not read: add them under /v1/admin/models',
  background_health_checks: 'upstreams show their state in traffic',
  health_check_interval: 'upstreams show their state in traffic',
  alerting: 'Sluice has metrics to alert on (docs/operation.md)',
  alerting_threshold: 'Sluice has metrics to alert on (docs/operation.md)',
  allowed_ips: 'set ip_allow of entry keys',
  completion_model: 'a request names its model',
  custom_auth: 'Sluice checks its own keys alone',
  enable_jwt_auth: 'Sluice checks its own keys alone',
  maximum_spend_logs_retention_period: retention,
  disable_spend_logs: 'the request log is always kept',
  store_prompts_in_spend_logs: 'the request log has no bodies',
}

const SECTIONS: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  router_settings: ROUTER,
  litellm_settings: LITELLM,
  general_settings: GENERAL,
}

/** Carries the sections of settings, and reports what Sluice has no equal of. */
export function readSettings(file: Readonly<Record<string, unknown>>, context: SettingsContext): void {
  // The router's number of retries and timeout count before those of litellm_settings.
  for (const section of ['litellm_settings', 'router_settings', 'general_settings']) {
    const settings = file[section]
    for (const [name, value] of Object.entries(isObject(settings) ? settings : {})) {
      const rule = SECTIONS[section]?.[name] ?? 'Sluice has no such setting'
      const path = [section, name]
      const reason = typeof rule === 'string' ? rule : rule(value, context, path)
      if (reason !== null) context.remarks.lose(path, reason)
    }
  }
  readRedisParts(file['router_settings'], context)
  readMasterKey(file, context)
}

function redisUrl(url: string | undefined, { draft }: SettingsContext): string | null {
  if (url === undefined) return 'is not an address'
  setAt(draft, ['redis', 'url'], url)
  return null
}

function readRedisParts(settings: unknown, { draft, references, remarks }: SettingsContext): void {
  if (!isObject(settings) || settings['redis_host'] === undefined || draft['redis'] !== undefined) return
  const host = references.text(settings['redis_host']) ?? ''
  const port = references.text(settings['redis_port']) ?? '6379'
  const password = references.text(settings['redis_password'])
  if (password !== undefined && isReference(password)) {
    remarks.change(
      ['router_settings', 'redis_password'],
      `${password} is part of an address: write %40 for @, and so on`,
    )
  }
  const login = password === undefined ? '' : `:${isReference(password) ? password : encodeURIComponent(password)}@`
  setAt(draft, ['redis', 'url'], `redis://${login}${host}:${port}`)
}

/**
 * The master key becomes an entry key. Sluice accepts keys of its own form alone, so that a new key takes the place of another one. The
 * budget of the proxy becomes the budget of this key, which is the only one after the import.
 */
function readMasterKey(file: Readonly<Record<string, unknown>>, { draft, references, remarks }: SettingsContext): void {
  const general = isObject(file['general_settings']) ? file['general_settings'] : {}
  const litellm = isObject(file['litellm_settings']) ? file['litellm_settings'] : {}
  const given = references.text(general['master_key'])
  const budget = monthlyBudget(litellm, remarks, references)
  if (given === undefined) {
    if (budget !== null)
      remarks.lose(['litellm_settings', 'max_budget'], `without a master_key no key is made; ${KEYS_OWN}`)
    return
  }
  const isOwn = isApiKey(given)
  draft['keys'] = [
    {
      name: 'litellm-master-key',
      key: isOwn ? given : generateApiKey(),
      ...(budget === null ? {} : { monthly_budget: budget }),
    },
  ]
  if (!isOwn) {
    remarks.change(
      ['general_settings', 'master_key'],
      'keys of Sluice have a checksum: keys[0].key of the written file is a new key, which clients must use instead',
    )
  }
  if (budget !== null) {
    remarks.change(['litellm_settings', 'max_budget'], 'is the monthly_budget of keys[0], in calendar months')
  }
}

function monthlyBudget(
  { max_budget: amount, budget_duration: duration }: Readonly<Record<string, unknown>>,
  remarks: Remarks,
  references: References,
): number | null {
  if (amount === undefined) return null
  const dollars = references.number(amount)
  const path = ['litellm_settings', 'max_budget']
  if (dollars === undefined) {
    remarks.lose(path, 'is not a number')
    return null
  }
  if (duration === '30d' || duration === '31d' || duration === '1mo' || duration === 'monthly') {
    return Math.round(dollars * 1_000_000)
  }
  const says = typeof duration === 'string' ? `not for ${duration}` : 'not without a budget_duration'
  remarks.lose(path, `budgets are for calendar months, ${says}`)
  return null
}

const RATES: ReadonlyArray<readonly [name: string, key: string]> = [
  ['rpm_limit', 'requests_per_minute'],
  ['tpm_limit', 'tokens_per_minute'],
  ['max_parallel_requests', 'concurrency'],
]

/** Limits that new keys or users get. */
function limitsOf(section: 'key_defaults' | 'user_defaults'): Rule {
  return (value, { draft, references, remarks }, path) => {
    if (!isObject(value)) return 'is not a section'
    for (const [name, member] of Object.entries(value)) {
      const key = RATES.find(([rate]) => rate === name)?.[1]
      const number = references.number(member)
      if (key !== undefined && number !== undefined && number >= 1) {
        setAt(draft, ['limits', section, key], Math.round(number))
      } else if (member !== null) remarks.lose([...path, name], KEYS_OWN)
    }
    return null
  }
}

function retention(value: unknown, { draft }: SettingsContext): string | null {
  const [, count, unit] = /^(\d+)([dh])$/.exec(String(value)) ?? []
  if (count === undefined) return 'is not a number of days'
  setAt(draft, ['log', 'retention_days'], Math.max(1, Math.ceil(unit === 'd' ? Number(count) : Number(count) / 24)))
  return null
}
