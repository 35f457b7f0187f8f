import type { AuthStyle } from '../core/snapshot.ts'
import type { DialectName } from '../core/endpoint.ts'

/** A provider that a credential in the environment is enough to use. */
export interface KnownProvider {
  readonly id: string
  readonly name: string
  /** `<prefix>_API_KEY` holds the credential (several: separated by commas), `<prefix>_BASE_URL` another address. */
  readonly prefix: string
  readonly dialect: DialectName
  readonly auth: AuthStyle
  readonly baseUrl: string
  /** Appended to another address when it lacks it: this provider's own libraries leave it out. */
  readonly basePath?: string
  /** Current ids for the model list, then patterns for all others. */
  readonly models: readonly string[]
}

const chat = { dialect: 'openai-chat', auth: 'bearer' } as const
const messages = { dialect: 'anthropic-messages', auth: 'x-api-key' } as const

export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  {
    ...chat,
    id: 'openai',
    name: 'OpenAI',
    prefix: 'OPENAI',
    baseUrl: 'https://api.openai.com/v1',
    models: [
      'gpt-5.1',
      'gpt-5',
      'gpt-5-mini',
      'gpt-5-nano',
      'gpt-4.1',
      'gpt-4o',
      'gpt-4o-mini',
      'o3',
      'o4-mini',
    ].concat(['gpt-*', 'chatgpt-*', 'o1*', 'o3*', 'o4*']),
  },
  {
    ...messages,
    id: 'anthropic',
    name: 'Anthropic',
    prefix: 'ANTHROPIC',
    baseUrl: 'https://api.anthropic.com/v1',
    basePath: '/v1',
    models: ['claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'claude-opus-4-1', 'claude-*'],
  },
  {
    ...chat,
    id: 'deepseek',
    name: 'DeepSeek',
    prefix: 'DEEPSEEK',
    baseUrl: 'https://api.deepseek.com/v1',
    models: ['deepseek-chat', 'deepseek-reasoner', 'deepseek-*'],
  },
  {
    ...chat,
    id: 'gemini',
    name: 'Google Gemini',
    prefix: 'GEMINI',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    models: ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-*'],
  },
  {
    ...chat,
    id: 'groq',
    name: 'Groq',
    prefix: 'GROQ',
    baseUrl: 'https://api.groq.com/openai/v1',
    models: ['llama-3.3-70b-versatile', 'llama-3.1-8b-instant', 'openai/gpt-oss-120b', 'openai/gpt-oss-20b', 'groq/*'],
  },
  {
    ...chat,
    id: 'mistral',
    name: 'Mistral',
    prefix: 'MISTRAL',
    baseUrl: 'https://api.mistral.ai/v1',
    models: ['mistral-large-latest', 'mistral-medium-latest', 'mistral-small-latest', 'codestral-latest'].concat([
      'mistral-*',
      'magistral-*',
      'ministral-*',
      'codestral-*',
      'devstral-*',
    ]),
  },
  {
    ...chat,
    id: 'xai',
    name: 'xAI',
    prefix: 'XAI',
    baseUrl: 'https://api.x.ai/v1',
    models: ['grok-4', 'grok-4-fast-reasoning', 'grok-code-fast-1', 'grok-3-mini', 'grok-*'],
  },
  {
    ...chat,
    id: 'moonshot',
    name: 'Moonshot',
    prefix: 'MOONSHOT',
    baseUrl: 'https://api.moonshot.ai/v1',
    models: ['kimi-k2-turbo-preview', 'kimi-latest', 'kimi-*', 'moonshot-*'],
  },
  {
    ...chat,
    id: 'together',
    name: 'Together',
    prefix: 'TOGETHER',
    baseUrl: 'https://api.together.xyz/v1',
    models: [
      'meta-llama/Llama-3.3-70B-Instruct-Turbo',
      'deepseek-ai/DeepSeek-V3',
      'Qwen/*',
      'meta-llama/*',
      'deepseek-ai/*',
    ],
  },
  {
    ...chat,
    id: 'fireworks',
    name: 'Fireworks',
    prefix: 'FIREWORKS',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    models: ['accounts/fireworks/models/*'],
  },
  {
    ...chat,
    id: 'openrouter',
    name: 'OpenRouter',
    prefix: 'OPENROUTER',
    baseUrl: 'https://openrouter.ai/api/v1',
    models: ['openrouter/auto', 'openai/*', 'anthropic/*', 'google/*', 'mistralai/*', 'qwen/*', 'x-ai/*', 'deepseek/*'],
  },
]
