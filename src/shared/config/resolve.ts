import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { isAddressRange, parseBaseUrl } from './address.ts'
import { modelFacts, shippedCatalogue, withOwnModels } from './catalogue.ts'
import { readFailure } from './read-failure.ts'
import type { Env } from './env.ts'
import { resolveEntryKeys } from './entry-keys.ts'
import { environmentUpstreams } from './environment-upstreams.ts'
import { attempt, pathText, type Fail, type Path } from './config-error.ts'
import { deepFreeze, redacting } from './redact.ts'
import type { KeyLimits } from '../core/snapshot.ts'
import type { ConfigFile } from './schema.ts'
import type { Config, ManagementConfig, ServerConfig, VideoConfig } from './shape.ts'
import { resolveModelGroups } from './model-groups.ts'
import { resolveRedis } from './redis.ts'
import { resolveSignIn } from './sign-in.ts'
import { resolveToolServers, toolServerDocuments } from './tool-servers.ts'
import { resolveUpstreams } from './upstreams.ts'

const HOST_NAME = /^(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*$/i

export interface ResolveOptions {
  readonly file: string | null
  readonly shownSettings: Config['shownSettings']
  readonly env: Env
  readonly cwd: string
  readonly cores: number
  readonly fail: Fail
  /** Whether the schema accepts the value at a path, and everything in it. */
  readonly isSound: (path: Path) => boolean
  /** Gets the path of each file that a value names, before it is read. */
  readonly onFile: (file: string) => void
}

/** Turns a file that passed its schema into the configuration: computes defaults, makes paths absolute, checks combinations. */
export function resolveConfig(raw: ConfigFile, options: ResolveOptions): Config {
  const { file, shownSettings, env, cwd, fail, isSound } = options
  const { limits, workers, upstream, database, redis, journal, log, metrics, simulator } = raw
  const timeouts = {
    connectMs: upstream.timeouts.connect_ms,
    firstByteMs: upstream.timeouts.first_byte_ms,
    idleMs: upstream.timeouts.idle_ms,
    totalMs: upstream.timeouts.total_ms,
  }
  const declared = resolveUpstreams(raw.upstreams, timeouts, fail, isSound)
  const upstreams = [...declared, ...environmentUpstreams(env, declared, timeouts, fail)]

  const models = withOwnModels(modelFacts(raw.models, ['models'], fail, isSound), shippedCatalogue())

  return deepFreeze({
    server: resolveServer(raw.server, options),
    limits: {
      maxBodyBytes: limits.max_body_bytes,
      maxJsonDepth: limits.max_json_depth,
      maxJsonElements: limits.max_json_elements,
      maxAnswerBytes: limits.max_answer_bytes,
      maxRequestsInFlight: limits.max_requests_in_flight,
      keyDefaults: {
        requestsPerMinute: limits.key_defaults.requests_per_minute,
        tokensPerMinute: limits.key_defaults.tokens_per_minute,
        concurrency: limits.key_defaults.concurrency,
      },
      userDefaults: groupLimits(limits.user_defaults),
      enterpriseDefaults: groupLimits(limits.enterprise_defaults),
      defaultOutputTokens: limits.default_output_tokens,
      addressFailuresPerMinute: limits.address_failures_per_minute,
    },
    workers: {
      threads: workers.threads ?? Math.max(1, Math.min(4, options.cores - 1)),
      inlineMaxBytes: workers.inline_max_bytes,
      maxQueue: workers.max_queue,
    },
    upstream: {
      timeouts,
      maxAttempts: upstream.max_attempts,
      queueWaitMs: upstream.queue_wait_ms,
      queueMax: upstream.queue_max,
      retryBudget: { least: upstream.retry_budget_min, share: upstream.retry_budget_percent / 100 },
    },
    upstreams,
    fallbacks: resolveFallbacks(raw.fallbacks, fail),
    models,
    modelGroups: resolveModelGroups(raw.model_groups, { upstreams, models }, fail, isSound),
    keys: resolveEntryKeys(raw.keys, fail, isSound),
    database: redacting(
      {
        url: attempt(fail, () => databaseUrl(database.url, fail), null),
        maxConnections: database.max_connections,
        statementTimeoutMs: database.statement_timeout_ms,
      },
      ['url'],
    ),
    redis: resolveRedis(redis, fail),
    registrationOpen: raw.auth.registration === 'open',
    firstAdminPhone: raw.auth.first_admin_phone ?? null,
    signIn: attempt(fail, () => resolveSignIn(raw, fail, isSound), { consoleUrl: null, oidc: null }),
    mail: attempt(fail, () => resolveMail(raw.mail, fail), { smtp: null }),
    money: redacting(
      {
        currency: raw.money.currency,
        tenantTopup: raw.wallet.tenant_topup,
        allowUnpriced: raw.wallet.allow_unpriced,
        paymentSecret: raw.wallet.payment_secret ?? null,
      },
      ['paymentSecret'],
    ),
    mcp: {
      enabled: raw.mcp.enabled,
      maxSessions: raw.mcp.max_sessions,
      chats: {
        maxRounds: raw.mcp.chats.max_rounds,
        maxMs: raw.mcp.chats.max_ms,
        maxTools: raw.mcp.chats.max_tools,
        maxResultBytes: raw.mcp.chats.max_result_bytes,
        maxCostMicro: raw.mcp.chats.max_cost_micro ?? null,
      },
      servers: resolveToolServers(raw.mcp.servers, fail, isSound),
      documents: toolServerDocuments(raw.mcp.servers, isSound),
    },
    journal: {
      durability: journal.durability,
      segmentMaxBytes: journal.segment_max_bytes,
      segmentMaxAgeMs: journal.segment_max_age_ms,
      reserveBytes: journal.reserve_bytes,
      alertLagMs: journal.alert_lag_ms,
    },
    dataDir: resolve(cwd, raw.data_dir),
    log: {
      level: log.level,
      file: log.file === undefined ? null : resolve(cwd, log.file),
      retentionDays: log.retention_days,
    },
    overload: {
      loopDelayMs: raw.overload.loop_delay_ms,
      minConcurrency: raw.overload.min_concurrency,
      maxMemoryBytes: raw.overload.max_memory_bytes ?? null,
      minFreeDiskBytes: raw.overload.min_free_disk_bytes,
    },
    metrics: redacting({ host: metrics.host, port: metrics.port ?? null, token: metrics.token ?? null }, ['token']),
    management: resolveManagement(raw.management, fail),
    alerts: resolveAlerts(raw.alerts, fail),
    capture: {
      allowed: raw.capture.allowed,
      maxBodyBytes: raw.capture.max_body_bytes,
      bufferBytes: raw.capture.buffer_bytes,
      platformAdmins: raw.capture.platform_admins,
    },
    telemetry: { traceContext: raw.telemetry.trace_context },
    video: resolveVideo(raw.video),
    simulator: { enabled: simulator.enabled ?? upstreams.length === 0 },
    file,
    shownSettings,
  })
}

function resolveVideo(raw: ConfigFile['video']): VideoConfig {
  return {
    maxWaitMs: raw.max_wait_ms,
    pollFirstMs: raw.poll_first_ms,
    pollMaxMs: raw.poll_max_ms,
    giveUpMs: raw.give_up_ms,
    paddingAfterMs: raw.padding_after_ms,
    paddingEveryMs: raw.padding_every_ms,
    linkMs: raw.link_ttl_ms,
    repeatMs: raw.repeat_window_ms,
    idempotencyMs: raw.idempotency_window_ms,
    maxJobs: raw.max_jobs,
  }
}

function resolveManagement(raw: ConfigFile['management'], fail: Fail): ManagementConfig {
  const privateUpstreams = hostsAndRanges(
    raw.private_upstreams,
    ['management', 'private_upstreams'],
    'models.lan',
    fail,
  )
  return { host: raw.host, port: raw.port ?? null, privateUpstreams }
}

function resolveAlerts(raw: ConfigFile['alerts'], fail: Fail): Config['alerts'] {
  return {
    checkIntervalMs: raw.check_interval_ms,
    privateWebhooks: hostsAndRanges(raw.private_webhooks, ['alerts', 'private_webhooks'], 'hooks.lan', fail),
    retentionDays: raw.retention_days,
  }
}

function hostsAndRanges(entries: readonly string[], at: Path, example: string, fail: Fail): readonly string[] {
  for (const [index, entry] of entries.entries()) {
    if (isAddressRange(entry) || HOST_NAME.test(entry)) continue
    const path: Path = [...at, index]
    const says = `${pathText(path)} must be a host, an address or a CIDR range, e.g. ${example} or 10.0.0.0/8`
    attempt(fail, () => fail(path, says), undefined)
  }
  return entries
}

function resolveMail({ smtp }: ConfigFile['mail'], fail: Fail): Config['mail'] {
  if (smtp === undefined) return { smtp: null }
  const { url, from, require_tls: requireTls } = smtp
  if (!URL.canParse(url) || /%(?![0-9a-f]{2})/i.test(url)) {
    fail(
      ['mail', 'smtp', 'url'],
      'mail.smtp.url is not a valid address; in user and password write %25 for %, %40 for @',
    )
  }
  return { smtp: redacting({ url, from, requireTls }, ['url']) }
}

function groupLimits(raw: ConfigFile['limits']['user_defaults']): KeyLimits {
  return {
    requestsPerMinute: raw.requests_per_minute ?? null,
    tokensPerMinute: raw.tokens_per_minute ?? null,
    concurrency: raw.concurrency ?? null,
  }
}

function resolveFallbacks(fallbacks: ConfigFile['fallbacks'], fail: Fail): Config['fallbacks'] {
  for (const [model, others] of Object.entries(fallbacks)) {
    for (const [index, other] of others.entries()) {
      const path: Path = ['fallbacks', model, index]
      const problem =
        other === model
          ? 'a model cannot be its own fallback'
          : others.indexOf(other) < index
            ? 'a fallback is listed twice'
            : null
      if (problem !== null) attempt(fail, () => fail(path, problem), undefined)
    }
  }
  return fallbacks
}

function resolveServer(raw: ConfigFile['server'], options: ResolveOptions): ServerConfig {
  const { cores, fail } = options
  for (const [index, range] of raw.trusted_proxies.entries()) {
    if (isAddressRange(range)) continue
    const path = ['server', 'trusted_proxies', index]
    const says = `server.trusted_proxies[${index}] must be an address or a CIDR range, e.g. 10.0.0.0/8`
    attempt(fail, () => fail(path, says), undefined)
  }
  for (const [index, origin] of raw.cors_origins.entries()) {
    if (origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin)) continue
    const path = ['server', 'cors_origins', index]
    const says = `server.cors_origins[${index}] must be "*" or an origin without a path, e.g. https://example.com`
    attempt(fail, () => fail(path, says), undefined)
  }
  return {
    host: raw.host,
    port: raw.port,
    baseUrl: attempt(fail, () => displayUrl(raw.base_url, fail), null),
    fronts: raw.fronts ?? Math.max(1, cores - 1),
    tls: attempt(fail, () => resolveTls(raw.tls, options), null),
    trustedProxies: raw.trusted_proxies,
    vendor: raw.vendor,
    drainAnnounceMs: raw.drain_announce_ms,
    drainTimeoutMs: raw.drain_timeout_ms,
    bodyTimeoutMs: raw.body_timeout_ms,
    corsOrigins: raw.cors_origins,
  }
}

function resolveTls(raw: ConfigFile['server']['tls'], options: ResolveOptions): ServerConfig['tls'] {
  if (raw === undefined) return null
  const { fail } = options
  const certFile = attempt(fail, () => readableFile(raw.cert_file, ['server', 'tls', 'cert_file'], options), null)
  const keyFile = attempt(fail, () => readableFile(raw.key_file, ['server', 'tls', 'key_file'], options), null)
  if (certFile === null || keyFile === null) return null
  try {
    createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
  } catch {
    fail(['server', 'tls'], `server.tls: ${certFile} and ${keyFile} are not a certificate and its key`)
  }
  return { certFile, keyFile }
}

function displayUrl(text: string | undefined, fail: Fail): string | null {
  if (text === undefined) return null
  const parsed = parseBaseUrl(text)
  return 'url' in parsed ? parsed.url : fail(['server', 'base_url'], `server.base_url ${parsed.reason}`)
}

/** The absolute path of a file, after a check that it can be read: the server would only report that it cannot start. */
function readableFile(name: string, path: Path, { cwd, fail, onFile }: ResolveOptions): string {
  const file = resolve(cwd, name)
  onFile(file)
  try {
    readFileSync(file)
    return file
  } catch (cause) {
    return fail(path, `${pathText(path)}: the file ${file} cannot be read (${readFailure(cause)})`)
  }
}

/** Postgres also accepts an address without a host and with a socket in the query, which `URL` refuses. */
function databaseUrl(text: string | undefined, fail: Fail): string | null {
  if (text === undefined) return null
  if (URL.canParse(text) || URL.canParse(text.replace('@/', '@socket/'))) return text
  return fail(
    ['database', 'url'],
    'database.url is not a valid address; in user and password write %23 for #, %2F for /, %40 for @, and so on',
  )
}
