import type { Target } from '../../shared/core/codec.ts'

/**
 * What current models of the Gemini API take. Older ones think by a budget (`reasoning: 'budget'`); only a model with the
 * effort `none` can be kept from thinking.
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
