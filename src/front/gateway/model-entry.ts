import type { MessagesModel, ModelEntry } from '../../shared/endpoints/models.ts'
import type { ListedModel } from '../../shared/core/model-index.ts'

/** The entry of a model in the form of the chat protocol. Unknown facts are null. */
export function modelEntry(model: ListedModel): ModelEntry {
  const { id, created, ownedBy, facts } = model
  return {
    id,
    object: 'model',
    created,
    owned_by: ownedBy,
    context_window: facts?.contextTokens ?? null,
    max_output_tokens: facts?.target.maxOutputTokens ?? null,
    capabilities: {
      images: facts?.takesImages ?? null,
      tools: facts?.takesTools ?? null,
      reasoning: reasons(model),
    },
    type: 'model',
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
  }
}

/** The entry of a model in the form of the messages protocol. */
export function messagesModel(model: ListedModel): MessagesModel {
  const { id, created, facts } = model
  const thinks = reasons(model)
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: facts?.contextTokens ?? null,
    max_tokens: facts?.target.maxOutputTokens ?? null,
    capabilities:
      facts === null ? null : { ...support('image_input', facts.takesImages), ...support('thinking', thinks) },
  }
}

function support(name: string, supported: boolean | null): Record<string, { supported: boolean }> {
  return supported === null ? {} : { [name]: { supported } }
}

function reasons({ facts }: ListedModel): boolean | null {
  const how = facts?.target.reasoning
  return how === undefined ? null : how !== 'none'
}
