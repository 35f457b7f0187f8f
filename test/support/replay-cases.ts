import type { UpstreamDialectName } from '../../src/shared/core/endpoint.ts'
import type { RecordedAnswer } from '../../src/simulator/recorded.ts'
import type { TestUpstream } from './gateway.ts'
import type { RawPost } from './raw-client.ts'
import { loadFixtures } from './recorded-fixtures.ts'
import type { RecordedFixture } from './recorded-fixtures.ts'

/** How the upstream cuts its answer into writes: behind 1 to 64 bytes by a seed, not at all, behind every byte. */
export const SPLITS = ['seeded', 'whole', 'bytes'] as const
export type Split = (typeof SPLITS)[number]

/** One fixture played once, at an upstream of its own: what one case does to a key never shows in another. */
export interface ReplayCase {
  readonly name: string
  readonly fixture: RecordedFixture
  readonly split: Split
  /** The client's name for the model; decides the upstream. */
  readonly model: string
  readonly wantsUsage: boolean
  /** What the upstream is to get: the recorded request, or a minimal one. */
  readonly upstreamBody: Buffer
  /** The same with the client's name for the model. */
  readonly clientBody: Buffer
  readonly credentials: readonly string[]
  readonly answer: RecordedAnswer
}

/** Recorded requests that never get as far as the recorded answer, and why; a minimal one stands for them. */
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
 * Every fixture with each of these splits, as its request was recorded; and every chat stream once more with a client that wants
 * usage where the recorded one did not, and the other way around.
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

/** The upstream of a case. Answers that go to another key get two. */
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
  // Some services take the model from the path: ours must be told.
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

/** Lengths and encodings are those of the wire that it was recorded from. */
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

/** Replaces the value of the top-level `model`, and nothing else. */
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
