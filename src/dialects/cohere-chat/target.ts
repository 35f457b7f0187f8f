import type { Target } from '../../shared/core/codec.ts'

/** Capabilities of most current models of the service. The catalogue marks the models that reason. */
export const COHERE_TARGET: Target = {
  model: '',
  stream: false,
  maxOutputTokens: null,
  reasoning: 'none',
  efforts: [],
  takesSampling: true,
  takesTemperatureWithTopP: true,
  takesTopK: true,
  takesPrefill: false,
  takesSystemAnywhere: true,
  takesDeveloperRole: false,
  plainContent: false,
  alternates: false,
  takesCacheMarks: false,
  takesCustomTools: false,
  schemaOutput: 'native',
  takesJsonMode: true,
  maxTokensField: 'max_tokens',
  maxStopSequences: 5,
  reasoningBack: 'tool-turns',
  maxToolIdLength: 64,
  exactToolIdLength: null,
  passFields: [],
}
