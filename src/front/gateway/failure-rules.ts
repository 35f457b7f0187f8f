import type { UpstreamFailure } from '../../shared/core/dialect.ts'
import type { ErrorCode } from '../../shared/core/errors.ts'

/** Recognises a provider's failure by its text, which tells more than its status. */
export interface FailureRule {
  readonly provider: string
  /** The rule applies when all given conditions hold. */
  readonly when: {
    readonly status?: readonly number[]
    /** The code, the type or one of the reasons of the failure. */
    readonly word?: string
    readonly message?: RegExp
  }
  readonly is: Extract<ErrorCode, 'UPSTREAM_AUTH' | 'UPSTREAM_NOT_FOUND' | 'CONTEXT_LENGTH_EXCEEDED'>
}

const REFUSED = [400, 422] as const

/** The first matching rule decides. */
export const FAILURE_RULES: readonly FailureRule[] = [
  // The key, or its account, cannot be used.
  { provider: 'Google', when: { word: 'API_KEY_INVALID' }, is: 'UPSTREAM_AUTH' },
  { provider: 'Google', when: { status: REFUSED, message: /^User location is not supported/ }, is: 'UPSTREAM_AUTH' },
  {
    provider: 'Google',
    when: { status: REFUSED, word: 'FAILED_PRECONDITION', message: /\bbilling\b/i },
    is: 'UPSTREAM_AUTH',
  },
  { provider: 'OpenAI', when: { word: 'invalid_api_key' }, is: 'UPSTREAM_AUTH' },
  { provider: 'OpenAI', when: { word: 'account_deactivated' }, is: 'UPSTREAM_AUTH' },
  { provider: 'OpenAI', when: { word: 'billing_not_active' }, is: 'UPSTREAM_AUTH' },
  { provider: 'OpenAI', when: { word: 'billing_hard_limit_reached' }, is: 'UPSTREAM_AUTH' },
  { provider: 'OpenAI', when: { word: 'insufficient_quota' }, is: 'UPSTREAM_AUTH' },
  { provider: 'xAI', when: { status: REFUSED, message: /^Incorrect API key provided/i }, is: 'UPSTREAM_AUTH' },
  { provider: 'Anthropic', when: { status: REFUSED, message: /credit balance is too low/i }, is: 'UPSTREAM_AUTH' },
  { provider: 'Alibaba', when: { word: 'Arrearage' }, is: 'UPSTREAM_AUTH' },

  // The prompt, or the prompt and the requested answer, do not fit into the model's context.
  { provider: 'OpenAI, Groq, DeepSeek', when: { word: 'context_length_exceeded' }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  {
    provider: 'OpenAI, DeepSeek, vLLM',
    when: { message: /maximum context length (?:is|of) \d/i },
    is: 'CONTEXT_LENGTH_EXCEEDED',
  },
  { provider: 'Anthropic', when: { message: /^prompt is too long\b/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  { provider: 'Anthropic', when: { message: /exceed context limit/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  {
    provider: 'Google',
    when: { message: /^The input token count .*exceeds the maximum number of tokens allowed/i },
    is: 'CONTEXT_LENGTH_EXCEEDED',
  },
  { provider: 'Bedrock', when: { message: /^Input is too long for requested model/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  { provider: 'Cohere', when: { message: /^too many tokens\b/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  {
    provider: 'Mistral',
    when: { message: /too large for model with \d+ maximum context length/i },
    is: 'CONTEXT_LENGTH_EXCEEDED',
  },
  { provider: 'xAI', when: { message: /maximum prompt length is \d/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  {
    provider: 'Ollama',
    when: { message: /^prompt too long; exceeded max context length/i },
    is: 'CONTEXT_LENGTH_EXCEEDED',
  },
  { provider: 'llama.cpp', when: { word: 'exceed_context_size_error' }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  { provider: 'Cerebras, Inception', when: { word: 'too_many_prompt_tokens' }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  { provider: 'Moonshot', when: { message: /exceeded model token limit/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },
  { provider: 'MiniMax', when: { message: /context window exceeds limit/i }, is: 'CONTEXT_LENGTH_EXCEEDED' },

  // The provider does not have the model.
  { provider: 'OpenAI', when: { word: 'model_not_found' }, is: 'UPSTREAM_NOT_FOUND' },
  { provider: 'Azure', when: { word: 'DeploymentNotFound' }, is: 'UPSTREAM_NOT_FOUND' },
  { provider: 'Mistral', when: { status: REFUSED, word: 'invalid_model' }, is: 'UPSTREAM_NOT_FOUND' },
  { provider: 'OpenRouter', when: { status: REFUSED, message: / is not a valid model ID$/ }, is: 'UPSTREAM_NOT_FOUND' },
]

/**
 * The first rule that matches a failure; null when none does and its status decides.
 * @param status of the answer; 200 for an error inside a 200
 */
export function ruleFor(status: number, failure: UpstreamFailure): FailureRule | null {
  return FAILURE_RULES.find((rule) => holds(rule, status, failure)) ?? null
}

function holds({ when }: FailureRule, status: number, { message, type, code, reasons }: UpstreamFailure): boolean {
  if (when.status !== undefined && status !== 200 && !when.status.includes(status)) return false
  if (when.word !== undefined && when.word !== type && when.word !== code && reasons?.includes(when.word) !== true) {
    return false
  }
  return when.message === undefined || when.message.test(message)
}
