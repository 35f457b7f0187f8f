const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'simulator']
const CREATED = 1_767_225_600

/** The answer to GET models in OpenAI's or Anthropic's form. */
export function modelsBody(ids: readonly string[] = MODELS, anthropic: boolean): string {
  if (!anthropic) return JSON.stringify({ object: 'list', data: ids.map(openaiModel) })
  return JSON.stringify({
    data: ids.map(anthropicModel),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  })
}

/** The answer to GET models/{id}: every model exists. */
export function modelBody(id: string, anthropic: boolean): string {
  return JSON.stringify(anthropic ? anthropicModel(id) : openaiModel(id))
}

function openaiModel(id: string): object {
  return { id, object: 'model', created: CREATED, owned_by: 'simulator' }
}

function anthropicModel(id: string): object {
  return { type: 'model', id, display_name: id, created_at: new Date(CREATED * 1000).toISOString() }
}
