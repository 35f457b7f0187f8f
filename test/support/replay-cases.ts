import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import type { RecordedAnswer } from '../../src/simulator/recorded.ts'
import type { TestUpstream } from './gateway.ts'
import type { RawPost } from './raw-client.ts'
import { loadFixtures } from './recorded-fixtures.ts'
import type { RecordedFixture } from './recorded-fixtures.ts'

/** Ways in which the upstream splits its answer into writes: after 1 to 64 bytes by a seed, not at all, after every byte. */
export const SPLITS = ['seeded', 'whole', 'bytes'] as const
export type Split = (typeof SPLITS)[number]

/** One replay of a fixture, at a separate upstream: the state of a key never affects another case. */
export interface ReplayCase {
  readonly name: string
  readonly fixture: RecordedFixture
  readonly split: Split
  /** The client's name for the model; it selects the upstream. */
  readonly model: string
  readonly wantsUsage: boolean
  /** The body that the upstream must get: the recorded request, or a minimal one. */
  readonly upstreamBody: Buffer
  /** The same body with the client's name for the model. */
  readonly clientBody: Buffer
  readonly credentials: readonly string[]
  readonly answer: RecordedAnswer
}

/** Recorded requests that the gateway or the simulator refuses, with the reason; a minimal request replaces each. */
export const REPLACED_REQUESTS: Readonly<Record<string, string>> = {
  'anthropic-messages/anthropic-opus-4-8-messages-preserve-system-role-after-server-tool-result-2':
    'begins with an assistant message, which the simulator refuses',
  'anthropic-messages/anthropic-strict-schema-matrix-boolean-root-schema-is-rejected-for-tool-input':
    'the gateway refuses it: input_schema is true',
  'openai-chat/openai-chat-bad-request': 'the gateway refuses it: max_tokens is 0',
  'openai-chat/openai-chat-no-messages': 'the gateway refuses it: no messages',
  'openai-chat/openai-error-identity-edge-chat-completions-validation-error-carries-identity':
    'the gateway refuses it: temperature is 99',
}

/**
 * Every fixture with each of these splits, with its recorded request. Every chat stream also has a second case, in which the
 * client's choice to get the usage is the opposite of the recorded one.
 */
export function replayCases(seed: number, splits: readonly Split[]): ReplayCase[] {
  const cases: ReplayCase[] = []
  for (const fixture of loadFixtures()) {
    const recorded = fixture.id in REPLACED_REQUESTS ? null : fixture.request
    const asRecorded = recorded ?? minimalRequest(fixture)
    for (const split of splits) cases.push(replayCase(cases.length, fixture, split, asRecorded, seed))
    if (fixture.kind === 'stream' && fixture.protocol === 'openai-chat') {
      cases.push(replayCase(cases.length, fixture, 'seeded', withUsageFlipped(asRecorded), seed))
    }
  }
  return cases
}

/** The upstream of a case. It has two keys when the gateway retries the answer with another key. */
export function upstreamOf({ model, fixture, upstreamBody, credentials }: ReplayCase, origin: string): TestUpstream {
  const { model: upstreamModel } = JSON.parse(upstreamBody.toString()) as { model: string }
  return {
    id: model,
    dialect: fixture.protocol,
    baseUrl: `${origin}/v1`,
    models: [],
    keys: credentials.map((credential) => ({ credential })),
    more: { models: [{ id: model, upstream_model: upstreamModel }] },
  }
}

export function postOf({ fixture, clientBody }: ReplayCase, apiKey: string): RawPost {
  return { path: pathOf(fixture), headers: headersOf(fixture.protocol, apiKey), body: clientBody }
}

function headersOf(protocol: UpstreamDialectName, apiKey: string): Record<string, string> {
  const common = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  return protocol === 'openai-chat' ? common : { ...common, 'anthropic-version': '2023-06-01' }
}

function pathOf({ protocol, operation }: RecordedFixture): string {
  if (protocol === 'openai-chat') return '/v1/chat/completions'
  return operation === 'count_tokens' ? '/v1/messages/count_tokens' : '/v1/messages'
}

function replayCase(n: number, fixture: RecordedFixture, split: Split, body: Buffer, seed: number): ReplayCase {
  const model = `case-${n}`
  const { model: recordedModel, stream_options: options } = JSON.parse(body.toString()) as {
    model?: string
    stream_options?: { include_usage?: boolean } | null
  }
  // Some services take the model from the path; the gateway needs it in the body.
  const upstreamBody = recordedModel === undefined ? withMember(body, '"model":"m"') : body
  return {
    name: `${fixture.id} ${split}`,
    fixture,
    split,
    model,
    wantsUsage: options?.include_usage === true,
    upstreamBody,
    clientBody: withModel(upstreamBody, model),
    credentials: fixture.kind === 'error' ? [`${model}-a`, `${model}-b`] : [`${model}-a`],
    answer: {
      id: model,
      status: fixture.status,
      headers: answerHeaders(fixture),
      body: fixture.response,
      splits: split === 'whole' ? null : split === 'bytes' ? 'bytes' : seed + n,
    },
  }
}

/** The recorded headers without those for length and encoding, which belong to the original connection. */
function answerHeaders({ kind, responseHeaders }: RecordedFixture): Record<string, string> {
  const type = kind === 'stream' ? 'text/event-stream; charset=utf-8' : 'application/json'
  const headers: Record<string, string> = { 'content-type': type }
  for (const [name, value] of Object.entries(responseHeaders)) {
    if (!/^(?:content-length|content-encoding|transfer-encoding|connection)$/i.test(name)) {
      headers[name.toLowerCase()] = value
    }
  }
  return headers
}

function minimalRequest({ protocol, kind }: RecordedFixture): Buffer {
  const request = { model: 'some-model', messages: [{ role: 'user', content: 'Hello' }], stream: kind === 'stream' }
  return Buffer.from(JSON.stringify(protocol === 'openai-chat' ? request : { ...request, max_tokens: 100 }))
}

/** Replaces only the value of the top-level `model`. */
function withModel(body: Buffer, model: string): Buffer {
  const text = body.toString()
  for (const match of text.matchAll(/("model"\s*:\s*)"(?:[^"\\]|\\.)*"/g)) {
    const changed = `${text.slice(0, match.index)}${match[1]}"${model}"${text.slice(match.index + match[0].length)}`
    if ((JSON.parse(changed) as { model?: string }).model === model) return Buffer.from(changed)
  }
  throw new Error('a request without a model')
}

function withUsageFlipped(body: Buffer): Buffer {
  const request = JSON.parse(body.toString()) as { stream_options?: { include_usage?: boolean } | null }
  const before = request.stream_options?.include_usage === true
  return Buffer.from(JSON.stringify({ ...request, stream_options: { include_usage: !before } }))
}

function withMember(body: Buffer, member: string): Buffer {
  return Buffer.from(body.toString().replace('{', `{${member},`))
}
