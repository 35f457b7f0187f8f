import type { Block } from '../../shared/core/content.ts'

// The service signs parts of its thinking, and the signatures must come back on the same parts. Where a client's dialect has
// no place for them, they travel as thinking that the client cannot read and sends back unchanged.

/** The `format` of reasoning details that hold such a signature. */
export const THOUGHT_FORMAT = 'google-gemini-v1'

const OF_CALL = `${THOUGHT_FORMAT}:call:`
const OF_TEXT = `${THOUGHT_FORMAT}:text:`

/** What a signature signs: the call after it, or the text before it. */
export type SignedPlace = 'call' | 'text'

/** Writes the signature as the data of redacted thinking. */
export function sealSignature(signature: string, place: SignedPlace): string {
  return (place === 'call' ? OF_CALL : OF_TEXT) + signature
}

/** The signature in a block; null when the block has none that was written here. */
export function unsealSignature(block: Block): { readonly signature: string; readonly place: SignedPlace } | null {
  const data = block.type === 'redacted-thinking' ? block.data : block.type === 'thinking' ? block.signature : null
  if (data?.startsWith(OF_CALL)) return { signature: data.slice(OF_CALL.length), place: 'call' }
  return data?.startsWith(OF_TEXT) ? { signature: data.slice(OF_TEXT.length), place: 'text' } : null
}
