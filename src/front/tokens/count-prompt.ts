import type { Conversation } from '../../shared/core/conversation.ts'
import { familyOf } from './families.ts'
import { imageCost } from './image-cost.ts'
import { measurePrompt } from './measure-prompt.ts'

/** The assumed cost of a document or a recording: that of a page or two. */
const TOKENS_OF_ATTACHMENT = 1_500

/** Counts the tokens of the prompt as the family of `model` does, including its overhead. Deterministic. */
export function countPrompt(conversation: Conversation, model: string, countTokens: (text: string) => number): number {
  const measured = measurePrompt(conversation, countTokens)
  const costs = familyOf(model).prompt
  const tools = measured.toolChoice === 'none' && costs.leavesOutTools ? 0 : measured.tools
  let tokens = costs.base + costs.perMessage * measured.messages
  tokens += costs.text * (measured.textTokens + measured.callTokens) + costs.thinking * measured.thinkingTokens
  tokens += costs.perCall * measured.calls
  if (tools > 0) tokens += costs.toolBase + costs.perTool * tools + costs.toolText * measured.toolTokens
  if (tools > 0 && measured.toolChoice === 'forced') tokens += costs.forced
  if (measured.formatTokens > 0) tokens += costs.formatBase + costs.formatText * measured.formatTokens
  if (measured.citations) tokens += costs.citations
  for (const image of measured.images) tokens += imageCost(image, costs.image)
  tokens += TOKENS_OF_ATTACHMENT * measured.attachments
  return Math.max(1, Math.round(tokens))
}
