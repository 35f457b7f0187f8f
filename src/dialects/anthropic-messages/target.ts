import type { Target } from '../../shared/core/codec.ts'

/** Capabilities of the current models of the dialect's own service. */
export const MESSAGES_TARGET: Target = {
  model: '',
  stream: false,
  maxOutputTokens: null,
  reasoning: 'adaptive',
  efforts: ['low', 'medium', 'high'],
  takesSampling: true,
  takesTemperatureWithTopP: false,
  takesTopK: true,
  takesPrefill: false,
  takesSystemAnywhere: false,
  takesDeveloperRole: false,
  plainContent: false,
  alternates: false,
  takesCacheMarks: true,
  takesCustomTools: false,
  schemaOutput: 'native',
  takesJsonMode: false,
  maxTokensField: 'max_tokens',
  maxStopSequences: Number.POSITIVE_INFINITY,
  reasoningBack: 'always',
  maxToolIdLength: 64,
  exactToolIdLength: null,
  passFields: [],
}
