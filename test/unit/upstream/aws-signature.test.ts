import { createHash, createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { signAwsRequest } from '../../../src/front/upstream/aws-signature.ts'
import type { AwsRequest } from '../../../src/front/upstream/aws-signature.ts'

// Key, secret and time of the test suite that AWS has published for Signature Version 4.
const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
}
const NOW = Date.UTC(2015, 7, 30, 12, 36)
const SUITE = {
  host: 'example.amazonaws.com',
  region: 'us-east-1',
  service: 'service',
  headers: {},
  body: Buffer.alloc(0),
} as const
const CONVERSE: AwsRequest = {
  method: 'POST',
  host: 'bedrock-runtime.us-east-1.amazonaws.com',
  path: '/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse',
  region: 'us-east-1',
  service: 'bedrock',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"messages":[{"role":"user","content":[{"text":"grüß dich"}]}]}'),
}

it.each([
  ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
] as const)('signs %s of the published suite as published', (_name, method, path, signature) => {
  const { authorization } = signAwsRequest({ ...SUITE, method, path }, CREDENTIALS, NOW)
  expect(authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
  )
})

it('encodes the path of a model a second time and signs the exact bytes of the body', () => {
  const headers = signAwsRequest(CONVERSE, CREDENTIALS, NOW)
  expect(headers['authorization']).toContain(`Signature=${signatureByHand(CONVERSE, '20150830T123600Z')}`)
})

it('signs the token of lent credentials and sends it along', () => {
  const headers = signAwsRequest(CONVERSE, { ...CREDENTIALS, sessionToken: 'lent' }, NOW)
  expect(headers['x-amz-security-token']).toBe('lent')
  expect(headers['authorization']).toContain(';x-amz-security-token,')
})

it('gives the same headers for the same moment, and others for another', () => {
  const first = signAwsRequest(CONVERSE, CREDENTIALS, NOW)
  expect(signAwsRequest(CONVERSE, CREDENTIALS, NOW)).toEqual(first)
  expect(signAwsRequest(CONVERSE, CREDENTIALS, NOW + 1000)).not.toEqual(first)
})

/** The steps of the specification, written down once more. */
function signatureByHand(request: AwsRequest, date: string): string {
  const hash = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
  const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const canonical = [
    'POST',
    '/model/us.anthropic.claude-haiku-4-5-20251001-v1%253A0/converse',
    '',
    `content-length:${request.body.length}`,
    'content-type:application/json',
    `host:${request.host}`,
    `x-amz-date:${date}`,
    '',
    'content-length;content-type;host;x-amz-date',
    hash(request.body),
  ].join('\n')
  const scope = `${date.slice(0, 8)}/us-east-1/bedrock/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')
  const day = hmac(`AWS4${CREDENTIALS.secretAccessKey}`, date.slice(0, 8))
  return hmac(hmac(hmac(hmac(day, 'us-east-1'), 'bedrock'), 'aws4_request'), toSign).toString('hex')
}
