import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../src/shared/core/errors.ts'
import { readFailureBody } from '../../../src/dialects/common/failure.ts'
import { renderError as renderMessages } from '../../../src/dialects/anthropic-messages/errors.ts'
import { renderError as renderChat } from '../../../src/dialects/openai-chat/errors.ts'
import { classifyFailure, classifyStatus } from '../../../src/front/gateway/classify.ts'
import { FAILURE_RULES, ruleFor } from '../../../src/front/gateway/failure-rules.ts'
import type { FailureRule } from '../../../src/front/gateway/failure-rules.ts'
import { loadFixtures, loadUpstreamFixtures } from '../../support/recorded-fixtures.ts'

type Said = readonly [status: number, body: unknown, code: ErrorCode]

const said = (message: string, more: object = {}): object => ({ error: { message, ...more } })
const google = (message: string, status: string, reason?: string): object => ({
  error: { code: 400, message, status, ...(reason === undefined ? {} : { details: [{ '@type': 'x', reason }] }) },
})

const REFUSALS: readonly Said[] = [
  [
    400,
    google('API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT', 'API_KEY_INVALID'),
    'UPSTREAM_AUTH',
  ],
  [400, [google('API key not valid.', 'INVALID_ARGUMENT', 'API_KEY_INVALID')], 'UPSTREAM_AUTH'],
  [400, google('User location is not supported for the API use.', 'FAILED_PRECONDITION'), 'UPSTREAM_AUTH'],
  [400, google('Please enable billing on project 1.', 'FAILED_PRECONDITION'), 'UPSTREAM_AUTH'],
  [400, said('Wrong key', { code: 'invalid_api_key', type: 'invalid_request_error' }), 'UPSTREAM_AUTH'],
  [400, said('Gone', { code: 'account_deactivated' }), 'UPSTREAM_AUTH'],
  [429, said('Not active', { code: 'billing_not_active', type: 'billing_not_active' }), 'UPSTREAM_AUTH'],
  [400, said('Billing hard limit has been reached', { code: 'billing_hard_limit_reached' }), 'UPSTREAM_AUTH'],
  [429, said('You exceeded your current quota', { type: 'insufficient_quota' }), 'UPSTREAM_AUTH'],
  [
    400,
    { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***yz. You can obtain …' },
    'UPSTREAM_AUTH',
  ],
  [400, said('Your credit balance is too low to access the API.', { type: 'invalid_request_error' }), 'UPSTREAM_AUTH'],
  [400, said('Access denied, …', { code: 'Arrearage', type: 'Arrearage' }), 'UPSTREAM_AUTH'],
  [400, said('Too long', { code: 'context_length_exceeded', param: 'messages' }), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said("This model's maximum context length is 8192 tokens. However, …"), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said('prompt is too long: 219001 tokens > 200000 maximum'), 'CONTEXT_LENGTH_EXCEEDED'],
  [413, said('Prompt is too long'), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'), 'CONTEXT_LENGTH_EXCEEDED'],
  [
    400,
    google(
      'The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).',
      'INVALID_ARGUMENT',
    ),
    'CONTEXT_LENGTH_EXCEEDED',
  ],
  [400, { message: 'Input is too long for requested model.' }, 'CONTEXT_LENGTH_EXCEEDED'],
  [
    400,
    { message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000' },
    'CONTEXT_LENGTH_EXCEEDED',
  ],
  [
    400,
    { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
    'CONTEXT_LENGTH_EXCEEDED',
  ],
  [
    400,
    { error: "This model's maximum prompt length is 131072 but the request contains 200000 tokens." },
    'CONTEXT_LENGTH_EXCEEDED',
  ],
  [400, said('prompt too long; exceeded max context length by 1119046 tokens (ref: 1)'), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said('the request exceeds …', { code: 400, type: 'exceed_context_size_error' }), 'CONTEXT_LENGTH_EXCEEDED'],
  [
    400,
    said('The total length of all messages is too long.', { type: 'too_many_prompt_tokens', code: 400 }),
    'CONTEXT_LENGTH_EXCEEDED',
  ],
  [400, said('Invalid request: Your request exceeded model token limit: 131072'), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said('invalid params, context window exceeds limit'), 'CONTEXT_LENGTH_EXCEEDED'],
  [400, said('The model `x` does not exist', { code: 'model_not_found' }), 'UPSTREAM_NOT_FOUND'],
  [404, said('The API deployment does not exist.', { code: 'DeploymentNotFound' }), 'UPSTREAM_NOT_FOUND'],
  [400, { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' }, 'UPSTREAM_NOT_FOUND'],
  [400, said('x/y is not a valid model ID', { code: 400 }), 'UPSTREAM_NOT_FOUND'],
]
const bytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body))
const unchanged = (text: string): string => text

describe('what an upstream says', () => {
  it.each(REFUSALS)('with %i, %j, is %s', (status, body, code) => {
    const failure = readFailureBody(bytes(body))
    expect(classifyStatus(status, {}, failure, unchanged).code).toBe(code)
    expect(classifyFailure(failure, unchanged).code).toBe(code)
  })

  it('of its key takes the key out, in every recorded refusal', () => {
    const recorded = [...loadFixtures(), ...loadUpstreamFixtures('gemini')].filter(
      ({ kind, response }) => kind === 'error' && /api[ _-]?key|credit balance/i.test(response.toString()),
    )
    expect(recorded.length).toBeGreaterThan(5)
    const codes = recorded.map(({ id, status, response }) => [
      id,
      classifyStatus(status, {}, readFailureBody(response), unchanged).code,
    ])
    expect(codes.filter(([, code]) => code !== 'UPSTREAM_AUTH')).toEqual([])
  })

  it('has an example of every rule', () => {
    const met = new Set<FailureRule | null>(
      REFUSALS.map(([status, body]) => ruleFor(status, readFailureBody(bytes(body)))),
    )
    expect(FAILURE_RULES.filter((rule) => !met.has(rule))).toEqual([])
  })

  it('of its key or account is never shown to a client', () => {
    for (const [status, body] of REFUSALS.filter(([, , code]) => code === 'UPSTREAM_AUTH')) {
      const { message } = classifyStatus(status, {}, readFailureBody(bytes(body)), unchanged)
      expect(message).toBe('The upstream service is unavailable.')
    }
  })

  it('of the request is: code, field and text', () => {
    const body = said("Unsupported value: 'x'.", { code: 'unsupported_value', param: 'messages[0].role' })
    const error = classifyStatus(400, {}, readFailureBody(bytes(body)), unchanged)
    expect(JSON.parse(renderChat(error, 'req_1'))).toEqual({
      error: {
        type: 'invalid_request',
        message: "Unsupported value: 'x'.",
        code: 'unsupported_value',
        param: 'messages[0].role',
        request_id: 'req_1',
      },
    })
  })

  it('of an overflow is what agents look for, in each dialect', () => {
    const body = google(
      'The input token count (9) exceeds the maximum number of tokens allowed (8).',
      'INVALID_ARGUMENT',
    )
    const error = classifyStatus(400, {}, readFailureBody(bytes(body)), unchanged)
    expect(JSON.parse(renderChat(error, ''))).toMatchObject({ error: { code: 'context_length_exceeded' } })
    const { message } = (JSON.parse(renderMessages(error, '')) as { error: { message: string } }).error
    expect(message).toBe(
      'prompt is too long: The input token count (9) exceeds the maximum number of tokens allowed (8).',
    )
  })

  it.each(['Not A Code', 'x'.repeat(80), 'https://host/'])(
    'is not shown as a code or a field where it is %s',
    (word) => {
      const error = classifyStatus(400, {}, readFailureBody(bytes(said('No.', { code: word, param: word }))), unchanged)
      expect([error.clientCode, error.param?.startsWith('https') ?? false]).toEqual(['UPSTREAM_INVALID_REQUEST', false])
    },
  )
})
