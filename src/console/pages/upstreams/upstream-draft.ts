import type { Upstream } from './upstream-calls.ts'

/** Ids of known providers: their settings need not be typed. */
export const PROVIDERS = [
  'openai',
  'anthropic',
  'gemini',
  'azure-openai',
  'bedrock',
  'bedrock-anthropic',
  'vertex',
  'vertex-anthropic',
  'openrouter',
  'deepseek',
  'mistral',
  'xai',
  'groq',
  'together',
  'fireworks',
  'moonshot',
  'zhipu',
  'qwen',
  'minimax',
  'cohere',
  'perplexity',
  'siliconflow',
  'cerebras',
  'nvidia',
  'vllm',
  'sglang',
  'ollama',
  'llamacpp',
  'lmstudio',
] as const

export const DIALECTS = [
  'openai-chat',
  'anthropic-messages',
  'gemini',
  'bedrock-converse',
  'bedrock-invoke',
  'anthropic-vertex',
  'cohere-chat',
] as const

export const TIMEOUTS = ['connect_ms', 'first_byte_ms', 'idle_ms', 'total_ms'] as const

/** The ids of the models that are stored; those that are objects keep their other members when the list changes. */
export function modelIdsOf(settings: Upstream['settings']): string[] {
  return storedModels(settings).map((one) => idOf(one))
}

export function modelsWith(settings: Upstream['settings'], ids: readonly string[]): Array<string | object> {
  const before = new Map(storedModels(settings).map((one) => [idOf(one), one]))
  return ids.map((id) => before.get(id) ?? id)
}

function storedModels(settings: Upstream['settings']): Array<string | object> {
  const models = settingOf(settings, 'models')
  return Array.isArray(models) ? (models as Array<string | object>) : []
}

function idOf(model: string | object): string {
  if (typeof model === 'string') return model
  return 'id' in model && typeof model.id === 'string' ? model.id : ''
}

/** A setting as it is stored, without its default. */
export function settingOf(settings: Upstream['settings'], name: string): unknown {
  return (settings as Readonly<Record<string, unknown>> | null)?.[name]
}

export function textSetting(settings: Upstream['settings'], name: string): string {
  const value = settingOf(settings, name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
