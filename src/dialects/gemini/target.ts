import type { Target } from '../../shared/core/codec.ts'

/**
 * Capabilities of the current models of the Gemini API. Older models think by a budget (`reasoning: 'budget'`). Thinking can
 * be switched off only for a model with the effort `none`.
 */
export const GEMINI_TARGET: Target = {
  model: '',
  stream: false,
  maxOutputTokens: null,
  reasoning: 'effort',
  efforts: ['minimal', 'low', 'medium', 'high'],
  takesSampling: true,
  takesTemperatureWithTopP: true,
  takesTopK: true,
  takesPrefill: true,
  takesSystemAnywhere: false,
  takesDeveloperRole: false,
  plainContent: false,
  alternates: true,
  takesCacheMarks: false,
  takesCustomTools: false,
  schemaOutput: 'native',
  takesJsonMode: true,
  maxTokensField: 'max_tokens',
  maxStopSequences: 5,
  reasoningBack: 'never',
  maxToolIdLength: 64,
  exactToolIdLength: null,
  passFields: [],
}
