import type { Target } from '../../shared/core/codec.ts'

/** Capabilities of the current models of the dialect's own service. */
export const CHAT_TARGET: Target = {
  model: '',
  stream: false,
  maxOutputTokens: null,
  reasoning: 'effort',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  takesSampling: true,
  takesTemperatureWithTopP: true,
  takesTopK: false,
  takesPrefill: true,
  takesSystemAnywhere: true,
  takesDeveloperRole: true,
  plainContent: false,
  alternates: false,
  takesCacheMarks: false,
  takesCustomTools: true,
  schemaOutput: 'native',
  takesJsonMode: true,
  maxTokensField: 'max_completion_tokens',
  maxStopSequences: 4,
  reasoningBack: 'never',
  maxToolIdLength: 64,
  exactToolIdLength: null,
  passFields: [],
}
