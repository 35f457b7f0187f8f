/** Who made a model: what Converse has no field for is said in the maker's own words. */
export type Family = 'anthropic' | 'nova' | 'openai' | 'other'

/** By the model's id, inference profile, or ARN. */
export function familyOf(model: string): Family {
  if (model.includes('anthropic.')) return 'anthropic'
  if (model.includes('amazon.nova')) return 'nova'
  return model.includes('openai.') ? 'openai' : 'other'
}
