import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { created, Id, listOf, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 2_048 })
const anything = (description: string) => Type.Object({}, { description, additionalProperties: true })
const integer = (description: string) => Type.Integer({ description })

/** Members of an upstream as in the configuration file, which has the checks. This schema checks only their types. */
const Settings = {
  name: text('Name for people. Default: the id.'),
  provider: text('A known provider. Settings that are not given come from it.'),
  dialect: text('The wire protocol of the upstream.'),
  base_url: text('Address to which the path of a call is appended.'),
  api_version: text('Azure only: the API version of calls.'),
  auth: text('How the credential is sent.'),
  priority: integer('Lower is used first. Sluice adds the priorities of the upstream, its key and its model.'),
  models: Type.Array(
    Type.Unsafe<string | object>({
      type: ['string', 'object'],
      properties: {
        id: Type.String({ description: 'The id for clients; a trailing "*" matches any rest.' }),
        upstream_model: Type.String({ description: 'Its name at the upstream. Default: the id.' }),
        weight: Type.Number({ description: 'Share of the traffic.' }),
        priority: integer('Lower is used first.'),
        owned_by: Type.String({ description: 'Shown in the model list.' }),
      },
    }),
    { description: 'Models of the upstream: ids, or objects.', maxItems: 10_000 },
  ),
  timeouts: Type.Object(
    {
      connect_ms: Type.Optional(integer('Longest time to connect.')),
      first_byte_ms: Type.Optional(integer('Longest time from sending the request to the first byte of the answer.')),
      idle_ms: Type.Optional(
        integer(
          'Longest time without progress of the answer: an event of a stream (comments and pings are events), a KiB of any body, or a blank line before the body begins.',
        ),
      ),
      total_ms: Type.Optional(
        integer('Longest time of all attempts of a request together, from the start of the first one.'),
      ),
    },
    { description: 'Timeouts that differ from the configured ones.', additionalProperties: false },
  ),
  quirks: anything('Deviations from its dialect.'),
  services: anything('Services besides conversations.'),
  bills_after_disconnect: Type.Boolean({ description: 'The upstream bills the whole answer even after a disconnect.' }),
  health_check: Type.Object(
    {
      interval_ms: Type.Optional(integer('Time between two checks of a key; it varies by a tenth. Default: 30000.')),
      timeout_ms: Type.Optional(integer('Longest time of a check. Default: 5000.')),
      path: Type.Optional(text('Path of the check at the host. Default: the list of models.')),
    },
    { description: 'Checks each key at intervals, also without traffic.', additionalProperties: false },
  ),
}

const KeySettings = {
  name: Type.Optional(text('Name for people. Default: the id.')),
  weight: Type.Optional(Type.Number({ description: 'Share of the traffic. Default: 1.' })),
  priority: Type.Optional(integer('Lower is used first. Default: 0.')),
  max_concurrency: Type.Optional(integer('Requests at the same time. Default: 1000.')),
  enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
}

const Credential = Type.String({
  description: 'The API key at the upstream. Never shown again.',
  minLength: 1,
  maxLength: 16_384,
  writeOnly: true,
})

export const NewUpstreamKey = Type.Object(
  {
    id: Type.Optional(text('Unique over all upstreams. Default: a generated id.')),
    credential: Credential,
    ...KeySettings,
  },
  { additionalProperties: false },
)

const Headers = Type.Record(Type.String(), Type.String({ writeOnly: true, maxLength: 8_192 }), {
  description: 'Headers sent with each request. Their values are never shown again.',
})

const Source = Type.Enum(['file', 'stored', 'built-in'], {
  type: 'string',
  description: 'The configuration (file or environment), management, or the built-in simulator.',
})

export const UpstreamKey = Type.Object({
  id: Id,
  name: Type.String(),
  source: Source,
  credential_masked: Type.String({ description: 'The end of the credential.' }),
  enabled: Type.Boolean(),
  state: Type.Enum(['active', 'disabled', 'unreadable', 'shadowed'], {
    type: 'string',
    description:
      'unreadable: its credential was encrypted with another secret, set it again; shadowed: the configuration has a key of this id.',
  }),
  weight: Type.Number(),
  priority: Type.Integer({
    description: 'For keys of the configuration: the sum with the priority of the upstream.',
  }),
  max_concurrency: Type.Integer(),
  created_at: nullable(Time),
  updated_at: nullable(Time),
})

const ServedModel = Type.Object({
  id: Type.String(),
  upstream_model: Type.String(),
  weight: Type.Number(),
  priority: Type.Integer(),
  owned_by: Type.String(),
})

/** A setting is null when it is not known, because the upstream is not valid. */
export const Upstream = Type.Object({
  id: Id,
  name: Type.String(),
  source: Source,
  enabled: Type.Boolean(),
  state: Type.Enum(['active', 'disabled', 'invalid', 'shadowed'], {
    type: 'string',
    description:
      'invalid: it cannot be used, see problem; shadowed: the configuration has an upstream of this id, which is used instead.',
  }),
  problem: nullable(Type.String()),
  provider: nullable(Type.String()),
  dialect: nullable(Type.String()),
  base_url: nullable(Type.String()),
  api_version: nullable(Type.String()),
  auth: nullable(Type.String()),
  header_names: Type.Array(Type.String()),
  timeouts: nullable(
    Type.Object({
      connect_ms: Type.Integer(),
      first_byte_ms: Type.Integer(),
      idle_ms: Type.Integer(),
      total_ms: Type.Integer(),
    }),
  ),
  bills_after_disconnect: nullable(Type.Boolean()),
  health_check: nullable(
    Type.Object({ interval_ms: Type.Integer(), timeout_ms: Type.Integer(), path: nullable(Type.String()) }),
  ),
  services: Type.Array(Type.String({ description: 'A service besides conversations.' })),
  models: Type.Array(ServedModel),
  keys: Type.Array(UpstreamKey),
  settings: nullable(
    anything('The stored settings, without defaults and secrets; null: the upstream is of the configuration.'),
  ),
  created_at: nullable(Time),
  updated_at: nullable(Time),
})

export const UPSTREAMS = {
  adminListUpstreams: operation({
    method: 'GET',
    path: '/v1/admin/upstreams',
    tag: 'Upstreams',
    summary: 'Upstreams of the configuration, then those made by management',
    access: 'platform-admin',
    query: Type.Object(PageQuery),
    answer: ok(listOf(Upstream)),
  }),
  adminCreateUpstream: operation({
    method: 'POST',
    path: '/v1/admin/upstreams',
    tag: 'Upstreams',
    summary: 'Make an upstream, with keys or without',
    access: 'platform-admin',
    body: Type.Object({
      id: text('Unique among upstreams.'),
      ...Type.Partial(Type.Object(Settings)).properties,
      headers: Type.Optional(Headers),
      enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
      keys: Type.Optional(Type.Array(NewUpstreamKey, { maxItems: 1_000 })),
    }),
    answer: created(Upstream),
  }),
  adminGetUpstream: operation({
    method: 'GET',
    path: '/v1/admin/upstreams/{id}',
    tag: 'Upstreams',
    summary: 'One upstream',
    access: 'platform-admin',
    answer: ok(Upstream),
  }),
  adminUpdateUpstream: operation({
    method: 'PUT',
    path: '/v1/admin/upstreams/{id}',
    tag: 'Upstreams',
    summary: 'Change an upstream: a missing field stays as it is, null removes it',
    access: 'platform-admin',
    body: Type.Object({
      name: Type.Optional(nullable(Settings.name)),
      provider: Type.Optional(nullable(Settings.provider)),
      dialect: Type.Optional(nullable(Settings.dialect)),
      base_url: Type.Optional(nullable(Settings.base_url)),
      api_version: Type.Optional(nullable(Settings.api_version)),
      auth: Type.Optional(nullable(Settings.auth)),
      priority: Type.Optional(nullable(Settings.priority)),
      models: Type.Optional(nullable(Settings.models)),
      timeouts: Type.Optional(nullable(Settings.timeouts)),
      quirks: Type.Optional(nullable(Settings.quirks)),
      services: Type.Optional(nullable(Settings.services)),
      bills_after_disconnect: Type.Optional(nullable(Settings.bills_after_disconnect)),
      health_check: Type.Optional(nullable(Settings.health_check)),
      headers: Type.Optional(nullable(Headers)),
      enabled: Type.Optional(Type.Boolean({ description: 'False: it gets no new requests.' })),
    }),
    answer: ok(Upstream),
  }),
  adminDeleteUpstream: operation({
    method: 'DELETE',
    path: '/v1/admin/upstreams/{id}',
    tag: 'Upstreams',
    summary: 'Delete an upstream and its keys; running requests go on',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  adminTestUpstream: operation({
    method: 'POST',
    path: '/v1/admin/upstreams/{id}/test',
    tag: 'Upstreams',
    summary: 'Make one small call with one of its keys; the provider bills it',
    access: 'platform-admin',
    body: Type.Object({
      key_id: Type.Optional(text('Default: the first key that is in use.')),
      model: Type.Optional(text('The id for clients. Default: the first model that is not a pattern.')),
    }),
    isChange: false,
    answer: ok(
      Type.Object({
        ok: Type.Boolean(),
        status: nullable(Type.Integer({ description: 'HTTP status; null: there was no answer.' })),
        latency_ms: Type.Integer({ description: 'Time until the whole answer arrived, or the call failed.' }),
        model: Type.String({ description: 'Name of the model at the upstream.' }),
        key_id: Id,
        error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
      }),
    ),
  }),
  adminListUpstreamKeys: operation({
    method: 'GET',
    path: '/v1/admin/upstreams/{id}/keys',
    tag: 'Upstreams',
    summary: 'The keys of an upstream',
    access: 'platform-admin',
    query: Type.Object(PageQuery),
    answer: ok(listOf(UpstreamKey)),
  }),
  adminCreateUpstreamKey: operation({
    method: 'POST',
    path: '/v1/admin/upstreams/{id}/keys',
    tag: 'Upstreams',
    summary: 'Give an upstream another key',
    access: 'platform-admin',
    body: NewUpstreamKey,
    answer: created(UpstreamKey),
  }),
  adminGetUpstreamKey: operation({
    method: 'GET',
    path: '/v1/admin/upstreams/{id}/keys/{keyId}',
    tag: 'Upstreams',
    summary: 'One key of an upstream',
    access: 'platform-admin',
    answer: ok(UpstreamKey),
  }),
  adminUpdateUpstreamKey: operation({
    method: 'PUT',
    path: '/v1/admin/upstreams/{id}/keys/{keyId}',
    tag: 'Upstreams',
    summary: 'Change a key of an upstream, also its credential',
    access: 'platform-admin',
    body: Type.Object({ credential: Type.Optional(Credential), ...KeySettings }),
    answer: ok(UpstreamKey),
  }),
  adminDeleteUpstreamKey: operation({
    method: 'DELETE',
    path: '/v1/admin/upstreams/{id}/keys/{keyId}',
    tag: 'Upstreams',
    summary: 'Delete a key of an upstream; requests that it serves go on',
    access: 'platform-admin',
    answer: NOTHING,
  }),
} as const
