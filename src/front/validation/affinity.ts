/** Providers do not cache prompts that are shorter than this. */
const LEAST_TOKENS = 1024
const MAX_NAME = 512
/** The hash of a text covers this many units of its beginning and of its end, and its length. */
const SAMPLE = 1024

interface PromptFields {
  readonly prompt_cache_key?: unknown
  readonly metadata?: { readonly user_id?: unknown } | null
  readonly system?: unknown
  readonly instructions?: unknown
  readonly messages?: ReadonlyArray<{ readonly role?: unknown; readonly content?: unknown }>
  readonly input?: unknown
}

/**
 * A text that is equal for all requests of one conversation, so that they go to the upstream key that has their prompt cached: the
 * client's name for it, else a hash of the beginning of the conversation. Null for short prompts.
 * @param request has passed its schema
 */
export function affinityOf(request: unknown, estimatedPromptTokens: number): string | null {
  const fields = request as PromptFields
  const { prompt_cache_key: name, metadata } = fields
  const system = fields.system ?? fields.instructions
  const messages = fields.messages ?? fields.input
  if (typeof name === 'string' && name !== '') return name.slice(0, MAX_NAME)
  const userId = metadata?.user_id
  if (typeof userId === 'string' && userId !== '') return userId.slice(0, MAX_NAME)
  if (estimatedPromptTokens < LEAST_TOKENS || !Array.isArray(messages)) return null
  let hash = hashContent(0x811c9dc5, system)
  for (const { role, content } of messages as NonNullable<PromptFields['messages']>) {
    if (role === 'user' || role === 'system' || role === 'developer') hash = hashContent(hash, content)
    if (role === 'user') break
  }
  return (hash >>> 0).toString(36)
}

function hashContent(start: number, content: unknown): number {
  if (typeof content === 'string') return hashSample(start, content)
  if (!Array.isArray(content)) return start
  let hash = start
  for (const block of content as ReadonlyArray<{ readonly text?: unknown } | null>) {
    const text = block?.text
    if (typeof text === 'string') hash = hashSample(hash, text)
  }
  return hash
}

/** FNV-1a. */
function hashSample(start: number, text: string): number {
  const { length } = text
  let hash = Math.imul(start ^ length, 0x01000193)
  const head = Math.min(length, SAMPLE)
  for (let index = 0; index < head; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  for (let index = Math.max(head, length - SAMPLE); index < length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash
}
