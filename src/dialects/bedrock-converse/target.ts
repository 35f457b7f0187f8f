import type { Target } from '../../shared/core/codec.ts'

/** Capabilities of the current models of the service. */
export const CONVERSE_TARGET: Target = {
  model: '',
  stream: false,
  maxOutputTokens: null,
  reasoning: 'budget',
  efforts: ['low', 'medium', 'high'],
  takesSampling: true,
  takesTemperatureWithTopP: false,
  takesTopK: true,
  takesPrefill: false,
  takesSystemAnywhere: false,
  takesDeveloperRole: false,
  plainContent: false,
  alternates: true,
  takesCacheMarks: true,
  takesCustomTools: false,
  schemaOutput: 'tool',
  takesJsonMode: false,
  maxTokensField: 'max_tokens',
  maxStopSequences: Number.POSITIVE_INFINITY,
  reasoningBack: 'always',
  maxToolIdLength: 64,
  exactToolIdLength: null,
  passFields: [],
}
