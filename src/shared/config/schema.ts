import { Type, type Static, type TProperties } from 'typebox'
import { SERVER_ID } from '../core/tool-server.ts'
import { modelEntry } from './catalogue.ts'
import { KNOWN_PROVIDERS } from './providers/known.ts'
import { quirksSchema } from './quirks.ts'
import { servicesSchema } from './services.ts'

/**
 * The configuration file: every key with its meaning, range and default. Members with a default are "required" here, so
 * that the type says they are there once defaults are filled in; `editorSchema` lifts that for people who write files.
 * `writeOnly` marks secrets: they are redacted wherever a configuration is shown.
 */

/** The dialects of upstreams. */
export const DIALECTS = [
  'openai-chat',
  'anthropic-messages',
  'anthropic-vertex',
  'gemini',
  'bedrock-converse',
  'bedrock-invoke',
  'cohere-chat',
] as const

/** An API version of Azure: a date, `preview`, … */
export const API_VERSION = /^[A-Za-z0-9.-]{1,64}$/

const positive = (description: string, value: number) =>
  Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: value })

/** Timers of Node end at 2^31 - 1 ms; beyond that they fire at once. */
const milliseconds = (description: string, value: number) =>
  Type.Integer({ description, minimum: 1, maximum: 2_147_483_647, default: value })

const text = (description: string) => Type.String({ description, minLength: 1 })

const secret = (description: string) => Type.String({ description, minLength: 1, writeOnly: true })

const texts = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description, default: [] })

const id = (description: string) =>
  Type.String({
    description,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    expects: 'up to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  })

/** A part of the file that may be left out as a whole. */
const section = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { description, additionalProperties: false, default: {} })

const entry = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { description, additionalProperties: false })

const httpUrl = (description: string) =>
  Type.String({
    description,
    pattern: '^https?://[^\\s]+$',
    expects: 'an address that begins with http:// or https://',
  })

const server = section('The public port and the processes behind it.', {
  host: Type.String({ description: 'Address to listen on.', minLength: 1, default: '0.0.0.0' }),
  port: Type.Integer({
    description: 'Port to listen on; 0 takes a free one.',
    minimum: 0,
    maximum: 65_535,
    default: 8787,
  }),
  base_url: Type.Optional(
    httpUrl('Address under which clients reach the gateway. The start line and links to videos show it.'),
  ),
  fronts: Type.Optional(
    Type.Integer({
      description: 'Number of front processes. Default: cores - 1, at least 1.',
      minimum: 1,
      maximum: 256,
    }),
  ),
  tls: Type.Optional(
    entry('Serve HTTPS with this certificate.', {
      cert_file: text('PEM file of the certificate chain.'),
      key_file: text('PEM file of the private key.'),
    }),
  ),
  trusted_proxies: texts('Addresses and CIDR ranges of proxies whose X-Forwarded-For is trusted.'),
  vendor: Type.String({
    description:
      'Vendor of the messages protocol: the path alias /<vendor>/v1/messages and the header <vendor>-version.',
    pattern: '^[a-z][a-z0-9-]{0,31}$',
    expects: 'up to 32 lower-case letters, digits or "-", beginning with a letter',
    default: 'anthropic',
  }),
  drain_announce_ms: Type.Integer({
    description: 'On shutdown: how long /health/ready answers 503 before the listener closes.',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 1000,
  }),
  drain_timeout_ms: milliseconds('On shutdown: how long running answers may take to end.', 120_000),
  body_timeout_ms: milliseconds('How long a request body may take to arrive.', 60_000),
  cors_origins: texts('Origins that browsers may call from ("*": all). Empty: CORS is off.'),
})

const limit = (description: string) => Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** Limits over several keys. There is no limit that is not given. */
const groupDefaults = (description: string) =>
  section(description, {
    requests_per_minute: Type.Optional(limit('Requests per minute.')),
    tokens_per_minute: Type.Optional(limit('Tokens per minute.')),
    concurrency: Type.Optional(limit('Requests at the same time.')),
  })

const limits = section('Limits of one request, one key and one process.', {
  max_body_bytes: Type.Integer({
    description: 'Largest request body.',
    minimum: 1024,
    maximum: 1_073_741_824,
    default: 33_554_432,
  }),
  max_json_depth: Type.Integer({
    description: 'Deepest nesting of a request body.',
    minimum: 4,
    maximum: 512,
    default: 64,
  }),
  max_json_elements: positive('Most values and member names in a request body.', 1_000_000),
  max_answer_bytes: positive('Largest buffered answer of an upstream.', 67_108_864),
  max_requests_in_flight: positive('Requests at the same time, per front process; a further one gets 503.', 20_000),
  key_defaults: section('Limits of entry keys that have none of their own.', {
    requests_per_minute: positive('Requests per minute.', 6_000_000),
    tokens_per_minute: positive('Tokens per minute.', 6_000_000_000),
    concurrency: positive('Requests at the same time.', 10_000),
  }),
  user_defaults: groupDefaults('Limits over all keys of a user, for users that have none of their own.'),
  enterprise_defaults: groupDefaults(
    'Limits over all keys of an enterprise, for enterprises that have none of their own.',
  ),
  default_output_tokens: positive('Answer tokens reserved for a request that sets no maximum.', 4096),
  address_failures_per_minute: positive(
    'Failed authentications per minute and client address; a further one gets 429.',
    600,
  ),
})

const workers = section('The pool of worker threads for CPU work, per front process.', {
  threads: Type.Optional(
    Type.Integer({
      description: 'Worker threads. Default: cores - 1, at least 1 and at most 4.',
      minimum: 1,
      maximum: 256,
    }),
  ),
  inline_max_bytes: Type.Integer({
    description: 'The front handles bodies up to this size without the pool; 0 sends all bodies to the pool.',
    minimum: 0,
    maximum: 1_073_741_824,
    default: 16_384,
  }),
  max_queue: positive('Tasks that may wait for a worker; a further one gets 503.', 256),
})

const CONNECT = 'Longest time to connect.'
const FIRST_BYTE = 'Longest time from sending the request to the first byte of the answer.'
const IDLE =
  'Longest time without progress of the answer: an event of a stream (comments and pings are events), a KiB of any body, or a blank line before the body begins.'
const TOTAL = 'Longest time of all attempts of a request together, from the start of the first one.'

/** Timeouts of an upstream for which nothing is configured. */
export const DEFAULT_TIMEOUTS = { connectMs: 5000, firstByteMs: 120_000, idleMs: 120_000, totalMs: 3_600_000 } as const

const upstream = section('How upstreams are called.', {
  timeouts: section('Longest waits on an upstream, in milliseconds.', {
    connect_ms: milliseconds(CONNECT, DEFAULT_TIMEOUTS.connectMs),
    first_byte_ms: milliseconds(FIRST_BYTE, DEFAULT_TIMEOUTS.firstByteMs),
    idle_ms: milliseconds(IDLE, DEFAULT_TIMEOUTS.idleMs),
    total_ms: milliseconds(TOTAL, DEFAULT_TIMEOUTS.totalMs),
  }),
  connections_per_origin: positive(
    'Deprecated, not used: connections follow the slots of upstream keys (max_concurrency).',
    1024,
  ),
  max_attempts: Type.Integer({
    description: 'Attempts per request and model, the first one included.',
    minimum: 1,
    maximum: 10,
    default: 3,
  }),
  queue_wait_ms: Type.Integer({
    description: 'How long a request may wait for a free slot of an upstream key; 0: not at all.',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 10_000,
  }),
  queue_max: positive(
    'Requests that may wait for a slot at the same time, per front process; a further one gets 503.',
    1000,
  ),
  retry_budget_min: Type.Integer({
    description: 'Retries that may always be under way at the same time, per front process.',
    minimum: 0,
    maximum: 1_000_000,
    default: 3,
  }),
  retry_budget_percent: Type.Integer({
    description:
      'Retries that may be under way at the same time, in percent of the requests under way, if that is more than retry_budget_min.',
    minimum: 0,
    maximum: 100,
    default: 20,
  }),
})

export const weight = Type.Number({
  description: 'Share of the traffic, relative to its siblings.',
  minimum: 0,
  maximum: 1_000_000,
  default: 1,
})

const PRIORITY = 'Lower is used first. Sluice adds the priorities of the upstream, its key and its model.'
export const priority = Type.Integer({ description: PRIORITY, minimum: 0, maximum: 1_000_000, default: 0 })

const upstreamKey = entry('A credential at this upstream.', {
  id: Type.Optional(id('Default: the upstream\'s id and the position in the list, e.g. "openai-1".')),
  name: Type.Optional(text('Name for people. Default: the id.')),
  credential: secret('The API key at the upstream.'),
  weight,
  priority,
  max_concurrency: Type.Integer({
    description: 'Requests at the same time.',
    minimum: 1,
    maximum: 1_000_000,
    default: 1000,
  }),
  enabled: Type.Boolean({ description: 'Whether the key is used.', default: true }),
})

const modelId = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'A model id; a trailing "*" matches any rest.',
})

const upstreamModel = Type.Union([
  modelId,
  entry('A model of this upstream.', {
    id: modelId,
    upstream_model: Type.Optional(
      Type.String({
        description:
          'The name of the model at the upstream. A trailing "*" stands for what the "*" of the id matched. Default: the id.',
        minLength: 1,
        maxLength: 256,
      }),
    ),
    weight,
    priority,
    owned_by: Type.Optional(text("Shown in the model list. Default: the upstream's id.")),
  }),
])

export const upstreamEntry = entry('A host that serves models.', {
  id: id('Unique among upstreams.'),
  name: Type.Optional(text('Name for people. Default: the id.')),
  provider: Type.Optional(
    Type.Enum(
      KNOWN_PROVIDERS.map((provider) => provider.id),
      {
        description: 'A known provider. Dialect, base_url, auth, quirks and models that are not given come from it.',
      },
    ),
  ),
  dialect: Type.Optional(Type.Enum([...DIALECTS], { description: 'The wire protocol of the upstream.' })),
  base_url: Type.Optional(
    httpUrl(
      'Address to which the path of a call is appended: https://api.openai.com/v1, https://api.anthropic.com/v1, https://generativelanguage.googleapis.com, https://bedrock-runtime.us-east-1.amazonaws.com, https://api.cohere.com. Vertex AI: it ends in /v1/projects/…/locations/….',
    ),
  ),
  api_version: Type.Optional(
    Type.String({
      description:
        'Azure only: the "api-version" of calls. The base_url is then the address of the resource (https://NAME.openai.azure.com), and each deployment has a path of its own. If the base_url ends in /openai/v1 or /models, the paths of those APIs are used.',
      pattern: API_VERSION.source,
      expects: 'a version such as 2024-10-21 or preview',
    }),
  ),
  quirks: Type.Optional(quirksSchema),
  services: Type.Optional(servicesSchema),
  auth: Type.Optional(
    Type.Enum(['bearer', 'x-api-key', 'api-key', 'x-goog-api-key', 'aws', 'google', 'none'], {
      description:
        'How the credential is sent. Default: as the service that defines the dialect takes it. aws: "access key:secret[:session token]", which signs requests, or an API key. google: the JSON key of a service account, for which access tokens are fetched, or an access token.',
    }),
  ),
  headers: Type.Record(Type.String(), Type.String({ writeOnly: true }), {
    description: 'Headers sent with each request.',
    default: {},
  }),
  priority,
  keys: Type.Array(upstreamKey, { description: 'Credentials. Sluice spreads requests over them.', default: [] }),
  models: Type.Optional(
    Type.Array(upstreamModel, { description: 'Models of the upstream: ids, or objects.', minItems: 1 }),
  ),
  timeouts: Type.Optional(
    entry('Timeouts that differ from upstream.timeouts.', {
      connect_ms: Type.Optional(Type.Integer({ description: CONNECT, minimum: 1, maximum: 2_147_483_647 })),
      first_byte_ms: Type.Optional(Type.Integer({ description: FIRST_BYTE, minimum: 1, maximum: 2_147_483_647 })),
      idle_ms: Type.Optional(Type.Integer({ description: IDLE, minimum: 1, maximum: 2_147_483_647 })),
      total_ms: Type.Optional(Type.Integer({ description: TOTAL, minimum: 1, maximum: 2_147_483_647 })),
    }),
  ),
  health_check: Type.Optional(
    entry('Checks each key at intervals, also without traffic. Default: no checks.', {
      interval_ms: Type.Integer({
        description: 'Time between two checks of a key; it varies by a tenth.',
        minimum: 1000,
        maximum: 86_400_000,
        default: 30_000,
      }),
      timeout_ms: milliseconds('Longest time of a check.', 5_000),
      path: Type.Optional(
        Type.String({
          description:
            'Path of the check at the host, called by GET. Default: the list of models; on Bedrock and Vertex AI, whether the host answers.',
          pattern: '^/[!-~]{0,500}$',
          expects: 'a path that begins with "/"',
        }),
      ),
    }),
  ),
  bills_after_disconnect: Type.Boolean({
    description:
      'The upstream bills the whole answer even after a disconnect. When a client leaves, Sluice then reads on within a bound instead of disconnecting.',
    default: false,
  }),
})

const monthly = (description: string) => Type.Integer({ description, minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const entryKey = entry('An entry API key that clients use at this gateway.', {
  name: text('Name for people.'),
  key: secret('"sk-" and 40 characters, as the gateway issues them.'),
  enabled: Type.Boolean({ description: 'Whether the key is accepted.', default: true }),
  enterprise: Type.Optional(id('The enterprise it belongs to.')),
  expires_at: Type.Optional(
    text('Time after which it is refused, ISO 8601 with a time zone, e.g. 2027-01-31T00:00:00Z.'),
  ),
  rpm: Type.Optional(limit('Requests per minute.')),
  tpm: Type.Optional(limit('Tokens per minute.')),
  max_concurrency: Type.Optional(limit('Requests at the same time.')),
  monthly_budget: Type.Optional(monthly('Money in a calendar month, in millionths of a dollar: 5000000 is $5.')),
  monthly_tokens: Type.Optional(monthly('Tokens in a calendar month.')),
  model_budgets: Type.Array(
    entry('A budget for some models. Requests for them also count against the other budgets.', {
      models: Type.Array(modelId, { description: 'Model ids, or ids of model_groups.', minItems: 1 }),
      monthly_budget: Type.Optional(monthly('Money in a calendar month, in millionths of a dollar: 5000000 is $5.')),
      monthly_tokens: Type.Optional(monthly('Tokens in a calendar month.')),
    }),
    { description: 'Budgets for some models.', default: [] },
  ),
  models: Type.Optional(Type.Array(modelId, { description: 'Model ids it may use. Default: all.', minItems: 1 })),
  ip_allow: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Addresses and CIDR ranges of clients that may use it. Default: all.',
      minItems: 1,
    }),
  ),
  client_allow: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Prefixes of the User-Agent of clients that may use it. Default: all.',
      minItems: 1,
    }),
  ),
  mcp_tools: Type.Optional(
    Type.Array(
      Type.String({ pattern: '^[A-Za-z0-9_.-]{0,128}\\*?$', minLength: 1, expects: 'the name of a tool, or "*"' }),
      {
        description: 'Tools that it may use at /mcp: names, or beginnings of names with a * after them. Default: none.',
        minItems: 1,
      },
    ),
  ),
})

const database = section('Postgres; without a url, an embedded database in data_dir.', {
  url: Type.Optional(
    Type.String({
      description: 'postgres://user:password@host:port/name',
      pattern: '^postgres(ql)?://',
      expects: 'an address that begins with postgres://',
      writeOnly: true,
    }),
  ),
  max_connections: Type.Integer({ description: 'Connections of one node.', minimum: 1, maximum: 1000, default: 10 }),
  statement_timeout_ms: milliseconds('Longest run of one statement.', 30_000),
})

const degradedMode = Type.Optional(Type.Enum(['shares', 'closed', 'open']))

const hosts = (description: string, port: number) =>
  Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^[^:@/\\s]+(:[0-9]{1,5})?$',
        expects: `a host, or host:port; the port is ${port} otherwise`,
      }),
      { description, minItems: 1, maxItems: 100 },
    ),
  )

const redis = section('Redis, for limits shared by several nodes; without it, limits are kept in process.', {
  url: Type.Optional(
    Type.String({
      description: 'redis://user:password@host:port/db, or rediss://',
      pattern: '^(rediss?|unix)://',
      expects: 'an address that begins with redis:// or rediss://',
      writeOnly: true,
    }),
  ),
  sentinels: hosts('Sentinels that know the master, in place of a url.', 26_379),
  master_name: Type.String({ description: 'Name of the master at the sentinels.', default: 'mymaster' }),
  sentinel_password: Type.Optional(
    Type.String({ description: 'Password of the sentinels themselves.', writeOnly: true }),
  ),
  cluster: hosts('Some nodes of a cluster, in place of a url.', 6379),
  username: Type.Optional(Type.String({ description: 'User name, with sentinels or a cluster.' })),
  password: Type.Optional(Type.String({ description: 'Password, with sentinels or a cluster.', writeOnly: true })),
  tls: Type.Boolean({ description: 'Whether to use TLS, with sentinels or a cluster.', default: false }),
  key_prefix: Type.String({
    description: 'Prefix of the names of all keys and channels.',
    pattern: '^[A-Za-z0-9_.-]{1,64}$',
    expects: 'letters, digits, _ . -',
    default: 'sluice',
  }),
  degraded: Type.Enum(['shares', 'closed', 'open'], {
    description:
      'Limits while the authority is out of reach and the leases are used up: each process admits its share (shares), nothing (closed) or everything (open).',
    default: 'shares',
  }),
  degraded_limits: section('The same setting for single kinds of limits.', {
    requests_per_minute: degradedMode,
    tokens_per_minute: degradedMode,
    concurrency: degradedMode,
    upstream_slots: degradedMode,
  }),
})

const oidcClaim = entry('What a value of a claim gives to the user who has it.', {
  claim: text('Name of the claim. Dots lead into objects: realm_access.roles.'),
  value: text('The value, or one of the values if the claim is a list.'),
  role: Type.Optional(
    Type.Enum(['admin'], {
      description:
        'Role on the platform. As soon as one entry gives it, the claims decide about it at each log-in: users without the value lose it.',
    }),
  ),
  enterprise: Type.Optional(
    id('Id of an enterprise whose member the user becomes, and stays as long as the claim says so.'),
  ),
  enterprise_role: Type.Optional(
    Type.Enum(['owner', 'admin', 'finance', 'employee'], {
      description: 'Role in the enterprise. Default: employee. Of several matches, the first of this list counts.',
    }),
  ),
})

const oidc = entry('Log-in through an OpenID provider (OpenID Connect, code flow with PKCE).', {
  issuer: httpUrl('Issuer of the provider. It must be https://, except on loopback.'),
  client_id: text('Client id at the provider. Its redirect URI is /api/auth/oidc/callback under server.base_url.'),
  client_secret: secret('Client secret at the provider.'),
  label: Type.Optional(
    text('Name of the provider on the button of the console. Default: the host name of the issuer.'),
  ),
  scopes: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Scopes that are asked for. "openid" must be one of them.',
    default: ['openid', 'profile', 'email'],
  }),
  create_users: Type.Boolean({
    description: 'Whether a log-in makes an account for somebody who has none. Off: only existing users are let in.',
    default: true,
  }),
  claims: Type.Array(oidcClaim, { description: 'Roles and memberships by claims.', default: [] }),
  mcp_audiences: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        'Audiences ("aud") of access tokens that the tool server takes. Default: the addresses of /mcp and /mcp/sse under server.base_url, which providers with RFC 8707 put there.',
      minItems: 1,
    }),
  ),
  mcp_scopes: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Scopes that clients of the tool server ask the provider for.',
    default: ['openid'],
  }),
})

const auth = section('Accounts of the management plane.', {
  registration: Type.Enum(['closed', 'open'], {
    description: '"open": anybody may make an account. "closed": only admins and invited users may.',
    default: 'closed',
  }),
  oidc: Type.Optional(oidc),
  console_url: Type.Optional(
    httpUrl(
      'Address of the console, to which e-mails and OpenID log-ins lead. Default: /console under server.base_url.',
    ),
  ),
  first_admin_phone: Type.Optional(
    Type.String({
      description: 'Phone number with which the admin of the first start logs in. Default: a made-up one.',
      pattern: '^\\+[1-9][0-9]{6,14}$',
      expects: 'a phone number with its country code, like +12025550100',
    }),
  ),
})

const mail = section(
  'E-mails of the management plane: invitations, password resets, verification of addresses, alerts, summaries.',
  {
    smtp: Type.Optional(
      entry(
        'The mail server. Default: Sluice mails nothing: the inviting user passes the token on, and passwords cannot be reset by mail.',
        {
          url: Type.String({
            description: 'smtps://user:password@host:465, or smtp:// with STARTTLS.',
            pattern: '^smtps?://[^\\s]+$',
            expects: 'an address that begins with smtp:// or smtps://',
            writeOnly: true,
          }),
          from: Type.String({
            description: 'Address of the sender.',
            pattern: '^[^@\\s<>,;"]{1,64}@[^@\\s<>,;"]{1,190}$',
            expects: 'a mail address, like sluice@example.com',
          }),
          require_tls: Type.Boolean({
            description: 'With smtp://: whether Sluice refuses to send to a server that offers no encryption.',
            default: true,
          }),
        },
      ),
    ),
  },
)

const journal = section('Records of requests on their way to the database.', {
  durability: Type.Enum(['os', 'disk'], {
    description: '"os" survives the end of any process, "disk" also a power cut, at the price of latency.',
    default: 'os',
  }),
  segment_max_bytes: Type.Integer({
    description: 'Size at which a segment file is closed and a new one begun.',
    minimum: 65_536,
    maximum: 4_294_967_296,
    default: 67_108_864,
  }),
  segment_max_age_ms: milliseconds('How long records are added to a segment file before a new one is begun.', 600_000),
  reserve_bytes: Type.Integer({
    description:
      'Space that each front process keeps on the disk, for the records of requests under way when the disk is full. 0: none.',
    minimum: 0,
    maximum: 4_294_967_296,
    default: 16_777_216,
  }),
  alert_lag_ms: milliseconds(
    'How long records may wait for the database before the log and /health say that it is behind.',
    60_000,
  ),
})

const overload = section('Load shedding: the bounds above which a front process refuses requests with 503.', {
  loop_delay_ms: milliseconds(
    'Mean delay of the event loop above which a front admits fewer requests at the same time.',
    10,
  ),
  min_concurrency: positive(
    'Requests at the same time that a front process admits at any delay of the event loop.',
    256,
  ),
  max_memory_bytes: Type.Optional(
    Type.Integer({
      description:
        'Memory of a front process; near this bound it refuses requests. Default: its share of three quarters of the memory.',
      minimum: 67_108_864,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  ),
  min_free_disk_bytes: positive('Free space on the disk of the journal below which requests are refused.', 134_217_728),
})

const video = section('Video requests. Each starts a job at a provider and waits for it.', {
  max_wait_ms: milliseconds(
    'How long a request waits for its job. Afterwards the job goes on, and clients get it by its id.',
    600_000,
  ),
  poll_first_ms: milliseconds('Time from the creation of a job to its first poll.', 2000),
  poll_max_ms: milliseconds('Longest time between two polls; the time grows by half with each poll.', 10_000),
  give_up_ms: milliseconds(
    'Age of a running job from which on Sluice polls it only when a client asks for it.',
    3_600_000,
  ),
  padding_after_ms: milliseconds(
    'Silence after which Sluice sends blanks to keep the connection of a waiting client alive; the status is then 200.',
    25_000,
  ),
  padding_every_ms: milliseconds('Time between two blanks.', 10_000),
  link_ttl_ms: milliseconds('How long the link to a video is valid.', 3_600_000),
  repeat_window_ms: Type.Integer({
    description: 'How long the same body from the same key means the same job; 0: never.',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 120_000,
  }),
  idempotency_window_ms: milliseconds('How long the same Idempotency-Key means the same job.', 86_400_000),
  max_jobs: positive('Jobs under way, and videos being fetched, per front process; a further one gets 503.', 10_000),
})

const metrics = section('Prometheus metrics: GET /metrics, for admins on the public port.', {
  host: Type.String({ description: 'Address of the separate listener.', minLength: 1, default: '127.0.0.1' }),
  port: Type.Optional(
    Type.Integer({
      description: 'Port of a separate listener. Default: there is none.',
      minimum: 1,
      maximum: 65_535,
    }),
  ),
  token: Type.Optional(
    Type.String({
      description: "Bearer token that is accepted besides an admin's; the separate listener then requires it.",
      pattern: '^\\S{16,}$',
      expects: 'a text of 16 characters or more, without spaces',
      writeOnly: true,
    }),
  ),
})

const management = section('The management plane, which is served on the public port.', {
  host: Type.String({ description: 'Address of an additional listener.', minLength: 1, default: '127.0.0.1' }),
  port: Type.Optional(
    Type.Integer({
      description: 'Port of an additional listener. Default: there is none.',
      minimum: 1,
      maximum: 65_535,
    }),
  ),
  private_upstreams: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    description:
      'Hosts, addresses and ranges (models.lan, 10.1.2.3, 10.0.0.0/8) where upstreams made by admins may be, over http:// too. All others must be at https:// and on the public Internet. Upstreams of this file may be anywhere.',
    default: [],
  }),
})

const alerts = section('Alerts by webhook and e-mail.', {
  check_interval_ms: Type.Integer({
    description: 'Time between two checks of what alerts watch.',
    minimum: 100,
    maximum: 600_000,
    default: 10_000,
  }),
  private_webhooks: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    description:
      'Hosts, addresses and ranges (hooks.lan, 10.1.2.3, 10.0.0.0/8) where webhooks of admins and tenants may be, over http:// too. All others must be at https:// and on the public Internet.',
    default: [],
  }),
  retention_days: Type.Integer({
    description: 'Days after which deliveries leave the delivery log.',
    minimum: 1,
    maximum: 36_500,
    default: 30,
  }),
})

const capture = section('Bodies of requests and answers, for keys and enterprises that turn their capture on.', {
  allowed: Type.Boolean({
    description: 'Whether bodies may be captured. false: no setting of a key or an enterprise has an effect.',
    default: true,
  }),
  max_body_bytes: Type.Integer({
    description: 'Captured bytes of each body; the rest is cut.',
    minimum: 1024,
    maximum: 1_048_576,
    default: 262_144,
  }),
  buffer_bytes: Type.Integer({
    description:
      'Memory of a front process for captured bodies on their way to the database. Captures that do not fit are dropped.',
    minimum: 65_536,
    maximum: 1_073_741_824,
    default: 16_777_216,
  }),
  platform_admins: Type.Boolean({
    description: 'Whether admins of the platform may read captured bodies. Each look is in the audit log.',
    default: true,
  }),
})

const money = section('Money of enterprises.', {
  currency: Type.String({
    description: 'The one currency of this installation, ISO 4217. The prices of the catalogue are in it.',
    pattern: '^[A-Z]{3}$',
    expects: 'three capital letters, like USD',
    default: 'USD',
  }),
})

const wallet = section('Wallets of enterprises. The platform credits them.', {
  tenant_topup: Type.Boolean({
    description: 'Whether owners and finance may credit the wallet of their enterprise themselves.',
    default: false,
  }),
  allow_unpriced: Type.Boolean({
    description: 'Whether prepaid enterprises may use models that have no price. Such requests cost nothing.',
    default: false,
  }),
  payment_secret: Type.Optional(
    Type.String({
      description:
        'A payment service credits wallets by calls of POST /api/payments, signed with this secret as Standard Webhooks are. Default: no such calls are taken.',
      pattern: '^whsec_[A-Za-z0-9+/]{32,}={0,2}$',
      expects: '"whsec_" and at least 24 bytes in base64',
      writeOnly: true,
    }),
  ),
})

const toolAccess = Type.Array(
  entry('Who may use the server: all that is given must hold.', {
    everyone: Type.Optional(Type.Literal(true, { description: 'Every user and key.' })),
    role: Type.Optional(
      Type.Enum(['owner', 'admin', 'finance', 'employee'], { description: 'A role in an enterprise.' }),
    ),
    enterprise_id: Type.Optional(text('Members and keys of an enterprise.')),
    department_id: Type.Optional(text('Members and keys of a department, and of those below it.')),
    key_id: Type.Optional(text('One entry key.')),
  }),
  { description: 'Who may use it besides platform admins. Default: nobody.', maxItems: 1_000, default: [] },
)

const toolServer = entry('An upstream server of tools: an address, or a program.', {
  id: Type.String({
    description: 'Unique, and not "sluice", the name of the own tools. The names of its tools begin with it.',
    pattern: SERVER_ID,
    expects: 'lower-case letters, digits and "-", at most 32',
  }),
  url: Type.Optional(text('Its address.')),
  transport: Type.Optional(
    Type.Enum(['http', 'sse'], { description: 'http: Streamable HTTP; sse: HTTP+SSE of 2024-11-05.', default: 'http' }),
  ),
  openapi: Type.Optional(
    text(
      'An OpenAPI document, 3.0 or 3.1, in JSON or YAML, as "${file:shop.yaml}" or as a text: the url is the base address of an HTTP API, and its operations are the tools. At most 1 MiB.',
    ),
  ),
  headers: Type.Optional(
    Type.Record(Type.String(), secret('Value of the header.'), { description: 'Headers of each request to it.' }),
  ),
  command: Type.Optional(text('A program that speaks over its standard input and output.')),
  args: Type.Optional(Type.Array(Type.String(), { description: 'Arguments of the program.' })),
  env: Type.Optional(
    Type.Record(Type.String(), secret('Value of the variable.'), {
      description: 'Variables of the program. It gets none of those of the gateway but PATH, HOME and the like.',
    }),
  ),
  cwd: Type.Optional(text('Working directory of the program.')),
  timeout_ms: Type.Integer({
    description: 'Longest time of a call.',
    minimum: 100,
    maximum: 3_600_000,
    default: 60_000,
  }),
  price_micro: Type.Integer({
    description: 'Price of a call, in millionths of the currency.',
    minimum: 0,
    maximum: 1_000_000_000_000,
    default: 0,
  }),
  enabled: Type.Boolean({ description: 'Whether its tools are offered.', default: true }),
  access: toolAccess,
  allow_all_tools: Type.Boolean({
    description:
      'Allows all tools that it has at first. Otherwise, and for tools that come later, an admin allows each.',
    default: false,
  }),
  interactive: Type.Boolean({
    description: 'Whether its calls may ask the caller for input, and for answers of models.',
    default: false,
  }),
  sampling_model: Type.Optional(
    text(
      'The model that answers in place of callers whose client has none. The key that pays for the call pays for it.',
    ),
  ),
  auth: Type.Enum(['none', 'oauth'], {
    description:
      'none: all callers share its headers; oauth: each user authorises the gateway at it, and calls it with an own token.',
    default: 'none',
  }),
  oauth_client_id: Type.Optional(
    text('The client that is registered at its authorization server. Default: the gateway registers itself.'),
  ),
  oauth_client_secret: Type.Optional(secret('The secret of that client.')),
  oauth_scopes: texts('Scopes to ask for. Default: those that the server names.'),
})

const mcp = section('The tool server at /mcp (Model Context Protocol).', {
  enabled: Type.Boolean({ description: 'Whether the gateway serves tools.', default: true }),
  max_sessions: Type.Integer({
    description: 'Sessions of tool clients at the same time, of all users together.',
    minimum: 1,
    maximum: 100_000,
    default: 1_000,
  }),
  chats: section('Chats that name tool servers: the gateway calls their tools, and asks the model again.', {
    max_rounds: Type.Integer({
      description: 'Requests to the model for one chat. In the last one it must answer without tools.',
      minimum: 1,
      maximum: 100,
      default: 8,
    }),
    max_ms: Type.Integer({
      description: 'Milliseconds that a chat may take, tools included.',
      minimum: 1_000,
      maximum: 3_600_000,
      default: 120_000,
    }),
    max_tools: Type.Integer({
      description: 'Tools of servers that one chat may offer to the model.',
      minimum: 1,
      maximum: 1_000,
      default: 128,
    }),
    max_result_bytes: Type.Integer({
      description: 'Bytes of one result that the model gets; the rest is cut off.',
      minimum: 256,
      maximum: 3_145_728,
      default: 65_536,
    }),
    max_cost_micro: Type.Optional(
      Type.Integer({
        description:
          'Micro-units of money.currency. Once the rounds of a chat have cost as much, by the list prices of its model, one more round has to answer without tools. Default: only the budgets of keys bound it.',
        minimum: 0,
        maximum: 1_000_000_000_000,
      }),
    ),
  }),
  servers: Type.Array(toolServer, {
    description: 'Upstream servers whose tools the gateway offers. Only these may be programs that it starts.',
    maxItems: 64,
    default: [],
  }),
})

const modelName = Type.String({ minLength: 1, maxLength: 256 })

export const configSchema = Type.Object(
  {
    server,
    limits,
    workers,
    upstream,
    upstreams: Type.Array(upstreamEntry, { description: 'The hosts that serve models.', default: [] }),
    fallbacks: Type.Record(
      Type.String(),
      Type.Array(modelName, { description: 'Model ids, best first.', minItems: 1 }),
      {
        description: 'Models that take over when all keys of a model fail or are busy.',
        default: {},
      },
    ),
    models: Type.Array(modelEntry, {
      description: 'Facts about models. They come before those of config/models.yaml for the same ids.',
      default: [],
    }),
    model_groups: Type.Array(
      entry('A named set of models, for budgets.', {
        id: id('Unique among groups, and not the id of a model.'),
        models: Type.Array(modelId, { description: 'Model ids of the group.', minItems: 1 }),
      }),
      { description: 'Groups of models. Budgets may name them in place of single models.', default: [] },
    ),
    keys: Type.Array(entryKey, { description: 'Entry API keys given by configuration.', default: [] }),
    database,
    redis,
    journal,
    data_dir: Type.String({
      description: 'Directory of the journal, the embedded database and generated secrets.',
      minLength: 1,
      default: './data',
    }),
    log: section('The log of the processes, and the retention of the request log.', {
      level: Type.Enum(['debug', 'info', 'warn', 'error', 'silent'], {
        description: 'Lowest level that is written.',
        default: 'info',
      }),
      file: Type.Optional(text('File to append to. Default: standard output.')),
      retention_days: Type.Integer({
        description: 'Days after which requests leave the request log; their hourly sums are kept. 0: never.',
        minimum: 0,
        maximum: 36_500,
        default: 90,
      }),
    }),
    auth,
    mail,
    money,
    wallet,
    management,
    mcp,
    alerts,
    capture,
    overload,
    metrics,
    telemetry: section('Tracing of requests.', {
      trace_context: Type.Boolean({
        description: 'Take part in W3C traces: accept traceparent and tracestate, send them to upstreams, log the id.',
        default: true,
      }),
    }),
    video,
    simulator: section('The built-in upstream that answers without a provider.', {
      enabled: Type.Optional(
        Type.Boolean({ description: 'Whether it runs. Default: only when no upstream is configured.' }),
      ),
    }),
  },
  {
    title: 'Sluice configuration',
    description: 'Strings may hold ${VAR}, ${VAR:-default} and ${file:/path}; "$${" is a plain "${".',
    additionalProperties: false,
  },
)

/** The file with its defaults filled in. */
export type ConfigFile = Static<typeof configSchema>
export type UpstreamEntry = Static<typeof upstreamEntry>
export type EntryKeyEntry = Static<typeof entryKey>
export type ToolServerEntry = Static<typeof toolServer>
