/** The maker of a model. Options without a field in Converse use the names of the maker. */
export type Family = 'anthropic' | 'nova' | 'openai' | 'other'

/** Finds the maker in the model's id, inference profile, or ARN. */
export function familyOf(model: string): Family {
  if (model.includes('anthropic.')) return 'anthropic'
  if (model.includes('amazon.nova')) return 'nova'
  return model.includes('openai.') ? 'openai' : 'other'
}
