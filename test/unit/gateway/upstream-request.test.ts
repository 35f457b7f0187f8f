import { expect, it } from 'vitest'
import type { Deployment } from '../../../src/shared/core/deployment.ts'
import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import type { UpstreamDialectName } from '../../../src/shared/core/endpoint.ts'
import { buildUpstreamRequest } from '../../../src/front/gateway/upstream-request.ts'
import { callCredential } from '../../../src/front/upstream/credentials.ts'
import type { CallCredential } from '../../../src/front/upstream/credentials.ts'
import type { UpstreamRequest } from '../../../src/front/upstream/upstream-client.ts'
import { noCredentials } from '../../support/no-credentials.ts'

function deploymentOf(dialect: UpstreamDialectName): Deployment {
  const key = { id: 'k', name: 'k', credential: 'the-credential', enabled: true, weight: 1, maxConcurrency: 1 }
  return {
    provider: {
      id: 'p',
      name: 'p',
      dialect,
      baseUrl: 'https://api.test.example/base/v1',
      auth: dialect === 'openai-chat' ? 'bearer' : 'x-api-key',
      headers: { 'x-configured': 'yes' },
      keys: [key],
      timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
      billsAfterDisconnect: false,
    },
    key,
    upstreamModel: 'm',
    weight: 1,
  }
}

/** Names and values, as they are sent one behind the other. */
function headersOf({ headers, common = [] }: UpstreamRequest): readonly string[] {
  return [...headers, ...common]
}

/** The headers sent upstream for a client's headers. */
function sent(
  dialect: UpstreamDialectName,
  headers: Record<string, string>,
  vendor = 'anthropic',
): Record<string, string> {
  const deployment = deploymentOf(dialect)
  const request = buildUpstreamRequest({
    deployment,
    credential: callCredential(deployment.provider.auth, 'the-credential'),
    endpoint: dialect === 'openai-chat' ? ENDPOINTS.chat : ENDPOINTS.messages,
    vendor,
    request: { method: 'POST', path: '/', query: '', headers, hasTags: false, address: '127.0.0.1', params: [] },
    body: Buffer.from('{}'),
    stream: false,
    trace: null,
    nowMs: 0,
  })
  const flat = headersOf(request)
  expect(request.path).toBe(dialect === 'openai-chat' ? '/base/v1/chat/completions' : '/base/v1/messages')
  return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])))
}

const client = {
  'user-agent': 'agent/1',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'a,b',
  'openai-beta': 'x=1',
  authorization: 'Bearer the-clients',
  'x-api-key': 'the-clients',
  cookie: 'c=1',
}
const always = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
  'user-agent': 'agent/1',
  'x-configured': 'yes',
}

it('forwards to each dialect the headers of its own protocol alone', () => {
  expect(sent('openai-chat', client)).toEqual({
    ...always,
    'openai-beta': 'x=1',
    authorization: 'Bearer the-credential',
  })
  expect(sent('anthropic-messages', client)).toEqual({
    ...always,
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'a,b',
    'x-api-key': 'the-credential',
  })
})

it.each([
  ['https://bedrock-runtime.eu-central-1.amazonaws.com', 'eu-central-1'],
  ['https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
  ['https://vpce-0a1b.bedrock-runtime.ap-south-1.vpce.amazonaws.com', 'ap-south-1'],
  ['http://proxy.example:8080/aws', 'us-east-1'],
])('signs what goes to %s for the region %s, with the bytes that are sent', (baseUrl, region) => {
  const { key, provider, ...deployment } = deploymentOf('bedrock-invoke')
  const signer = { ...key, credential: 'AKID:secret:session' }
  const request = buildUpstreamRequest({
    deployment: { ...deployment, key: signer, provider: { ...provider, baseUrl, auth: 'aws', keys: [signer] } },
    credential: callCredential('aws', signer.credential),
    endpoint: ENDPOINTS.chat,
    vendor: 'anthropic',
    request: { method: 'POST', path: '/', query: '', headers: {}, hasTags: false, address: '127.0.0.1', params: [] },
    body: Buffer.from('{}'),
    stream: true,
    trace: null,
    nowMs: Date.UTC(2026, 0, 2),
  })
  const headers = headersOf(request)
  expect(request.path).toBe(`${new URL(baseUrl).pathname.replace(/\/$/, '')}/model/m/invoke-with-response-stream`)
  const authorization = headers[headers.indexOf('authorization') + 1]
  expect(authorization).toMatch(
    new RegExp(`^AWS4-HMAC-SHA256 Credential=AKID/20260102/${region}/bedrock/aws4_request, `),
  )
  expect(headers[headers.indexOf('x-amz-security-token') + 1]).toBe('session')
  expect(headers.join()).not.toContain('secret')
})

it('never sends the key of a service account, whoever forgot to get a token for it', () => {
  const account = JSON.stringify({ client_email: 'a', private_key: 'PRIVATE', token_uri: 'https://t.example' })
  const { key, provider, ...deployment } = deploymentOf('gemini')
  const parts = {
    deployment: {
      ...deployment,
      key: { ...key, credential: account },
      provider: { ...provider, auth: 'google' as const },
    },
    endpoint: ENDPOINTS.chat,
    vendor: 'anthropic',
    request: { method: 'POST', path: '/', query: '', headers: {}, hasTags: false, address: '127.0.0.1', params: [] },
    body: Buffer.from('{}'),
    stream: false,
    trace: null,
    nowMs: 0,
  }
  expect(
    headersOf(buildUpstreamRequest({ ...parts, credential: callCredential('google', account) })).join(),
  ).not.toContain('PRIVATE')
  expect(headersOf(buildUpstreamRequest({ ...parts, credential: callCredential('google', 'token') }))).toContain(
    'Bearer token',
  )
})

it('makes what calls have in common once, and anew for another credential, whole answers and streams apart', () => {
  const parts = {
    deployment: deploymentOf('openai-chat'),
    endpoint: ENDPOINTS.chat,
    vendor: 'anthropic',
    request: { method: 'POST', path: '/', query: '', headers: {}, hasTags: false, address: '127.0.0.1', params: [] },
    body: Buffer.from('{}'),
    trace: null,
    nowMs: 0,
  }
  const commonOf = (credential: CallCredential, stream: boolean) =>
    buildUpstreamRequest({ ...parts, credential, stream }).common
  const one = callCredential('bearer', 'one')
  const [whole, stream] = [commonOf(one, false), commonOf(one, true)]
  expect(whole).toContain('Bearer one')
  expect(stream).toContain('text/event-stream')
  expect(commonOf(one, false)).toBe(whole)
  expect(commonOf(one, true)).toBe(stream)
  expect(commonOf(callCredential('bearer', 'two'), false)).toContain('Bearer two')
})

it('has one credential for all calls of a key, and another for another style', () => {
  const { key, provider } = deploymentOf('openai-chat')
  const one = noCredentials.of(key, 'bearer', provider)
  expect(one).toEqual({ headers: ['authorization', 'Bearer the-credential'], sign: null })
  expect(noCredentials.of(key, 'bearer', provider)).toBe(one)
  expect(noCredentials.of(key, 'x-goog-api-key', provider)).toEqual({
    headers: ['x-goog-api-key', 'the-credential'],
    sign: null,
  })
  expect(noCredentials.of(key, 'none', provider)).toEqual({ headers: [], sign: null })
})

it('translates the headers of another vendor’s name into those of the protocol', () => {
  const headers = { 'user-agent': 'agent/1', 'acme-version': '2024-01-01', 'acme-beta': 'z', 'anthropic-beta': 'a' }
  expect(sent('anthropic-messages', headers, 'acme')).toEqual({
    ...always,
    'anthropic-version': '2024-01-01',
    'anthropic-beta': 'z',
    'x-api-key': 'the-credential',
  })
})
