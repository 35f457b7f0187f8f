import type { ImageCosts } from './image-cost.ts'

/** The overhead of a model family's prompt format, and the ratio of its tokens to those of o200k. */
export interface Family {
  readonly name: string
  readonly pattern: RegExp
  readonly prompt: PromptCosts
  readonly answer: AnswerCosts
}

export interface PromptCosts {
  /** Tokens added to every prompt. */
  readonly base: number
  readonly perMessage: number
  /** Tokens of the family per token of o200k. */
  readonly text: number
  /** Added when the prompt has tools. */
  readonly toolBase: number
  readonly perTool: number
  /** Per o200k token of the tools' names, descriptions and schemas as JSON. */
  readonly toolText: number
  /** Per tool call in the conversation, with its result. */
  readonly perCall: number
  /** Per o200k token of reasoning that the client sends back. */
  readonly thinking: number
  /** Added when the answer has a schema, and per o200k token of the schema. */
  readonly formatBase: number
  readonly formatText: number
  /** Added when the model must call a tool. */
  readonly forced: number
  readonly citations: number
  /** Whether the provider leaves out tools that must not be called. */
  readonly leavesOutTools: boolean
  readonly image: ImageCosts
}

export interface AnswerCosts {
  /** Used when only bytes of text and reasoning are known; includes the average cost of tool calls. */
  readonly bytesPerToken: number
  /** Tokens of the family per token of o200k. */
  readonly text: number
  readonly perCall: number
  readonly base: number
}

// One token per tile of 28 pixels is nearly the same as one token per 750 pixels.
const AREA: ImageCosts = { unknown: 1_100, base: 0, tile: { side: 28, tokens: 1 }, maxTokens: 1_600 }

const USUAL: PromptCosts = {
  base: 4,
  perMessage: 4,
  text: 1.05,
  toolBase: 60,
  perTool: 10,
  toolText: 1.2,
  perCall: 12,
  thinking: 1,
  formatBase: 5,
  formatText: 1,
  forced: 0,
  citations: 0,
  leavesOutTools: false,
  image: AREA,
}

// prettier-ignore
/** The first matching pattern decides. The constants are fitted to recorded traffic, see the README. */
const FAMILIES: readonly Family[] = [
  // These models have a newer tokenizer, which makes a third more tokens of the same text.
  family('claude-5', /claude-(?:opus-4[.-][7-9]|(?:opus|sonnet|haiku)-5)/, { base: 6, perMessage: 2, text: 1.35, toolBase: 400, toolText: 1.5, perCall: 40, forced: 90, citations: 600, formatBase: 125, formatText: 1.6 }, { bytesPerToken: 2.8, text: 1.4, perCall: 48, base: 4 }),
  family('claude-4.5', /claude-(?:opus|sonnet|haiku)-4[.-][56]/, { base: 6, perMessage: 2, text: 1.08, toolBase: 482, perTool: 36, toolText: 1.15, perCall: 30, forced: 90, citations: 600, formatBase: 125, formatText: 1.3 }, { bytesPerToken: 3.6, text: 1.15, perCall: 45, base: 2 }),
  family('claude', /claude/, { base: 6, perMessage: 1, text: 1.02, toolBase: 318, toolText: 1.4, perCall: 84, citations: 600 }, { bytesPerToken: 3.9, text: 1.05, perCall: 45, base: 4 }),
  family('gpt-oss', /gpt-oss/, { base: 66, perMessage: 3, text: 1, toolBase: 5, perTool: 13, toolText: 1.08, perCall: 25, thinking: 0, formatBase: 25, formatText: 1.5 }, { bytesPerToken: 3.6, text: 1.1, perCall: 15, base: 2 }),
  family('gpt-5', /gpt-5/, { base: 3, text: 1, toolBase: 45, perTool: 0, toolText: 0.75, perCall: 11, thinking: 0, formatBase: 20, formatText: 0.85, forced: 40, image: { unknown: 630, base: 70, tile: { side: 512, tokens: 140 }, maxTokens: 1260 } }, { bytesPerToken: 4.1, text: 1, perCall: 8, base: 7 }),
  // Small models count 33 times as many tokens for the same picture.
  family('gpt-4o-mini', /gpt-4o-mini/, { base: 3, text: 1, toolBase: 14, perTool: 0, toolText: 0.72, perCall: 11, thinking: 0, formatBase: 15, formatText: 0.5, image: { unknown: 25501, base: 2833, tile: { side: 512, tokens: 5667 }, maxTokens: 48169 } }, { bytesPerToken: 4.1, text: 1, perCall: 8, base: 1 }),
  family('gpt', /gpt-|(?:^|\/)o[134](?:-|$)|chatgpt/, { base: 3, text: 1, toolBase: 14, perTool: 0, toolText: 0.72, perCall: 11, thinking: 0, formatBase: 15, formatText: 0.5, image: { unknown: 765, base: 85, tile: { side: 512, tokens: 170 }, maxTokens: 1445 } }, { bytesPerToken: 4.1, text: 1, perCall: 8, base: 1 }),
  family('gemini', /gemini|gemma/, { base: 0, perMessage: 1, text: 1, toolBase: 4, perTool: 11, toolText: 0.8, perCall: 10, formatBase: 0, formatText: 0.05, image: { unknown: 258, base: 0, tile: { side: 768, tokens: 258 }, maxTokens: 3096 } }, { bytesPerToken: 3.6, text: 1, perCall: 8, base: 0 }),
  family('deepseek', /deepseek/, { base: 2, perMessage: 2.5, text: 1, toolBase: 212, perTool: 6, toolText: 1.68, perCall: 23, thinking: 0 }, { bytesPerToken: 3.9, text: 1, perCall: 25, base: 0 }),
  family('qwen', /qwen|qwq/, { toolBase: 84, perTool: 7, toolText: 1.75, perCall: 43, thinking: 0, formatBase: 60, formatText: 1.1 }, { bytesPerToken: 3.9, text: 1.05, perCall: 15, base: 0 }),
  family('llama', /llama/, { base: 10, text: 1, toolBase: 176, perTool: 4, perCall: 10, leavesOutTools: true }, { bytesPerToken: 4.3, text: 1, perCall: 12, base: 1 }),
  family('mistral', /mi[sx]tral|ministral|magistral|codestral|devstral|pixtral|voxtral/, { text: 1, toolBase: 36, perTool: 8, toolText: 0.7, perCall: 4, formatBase: 0, formatText: 0, leavesOutTools: true }, { bytesPerToken: 3.5, text: 1, perCall: 5, base: 0 }),
  family('cohere', /command|cohere/, { base: 60, text: 1.02 }, { bytesPerToken: 4, text: 1.1, perCall: 8, base: 2 }),
  family('nova', /nova/, { base: 4, text: 1.2, toolBase: 348, perTool: 8, toolText: 1.25 }, { bytesPerToken: 4.9, text: 1, perCall: 8, base: 2 }),
  family('grok', /grok/, { base: 30, text: 1, toolBase: 90, perTool: 30, toolText: 1.9, thinking: 0.5, forced: 60, image: { unknown: 512, base: 256, tile: { side: 448, tokens: 256 }, maxTokens: 1792 } }, { bytesPerToken: 4.2, text: 1, perCall: 25, base: 0 }),
  family('kimi', /kimi|moonshot/, { base: 0, perMessage: 4, text: 1.05, toolBase: 28, perTool: 10, toolText: 1.65, perCall: 8 }, { bytesPerToken: 3.2, text: 1, perCall: 10, base: 2 }),
  family('glm', /glm/, { base: 3, perMessage: 4, text: 1, toolBase: 86, perTool: 21, toolText: 1.45, perCall: 7 }, { bytesPerToken: 3.8, text: 1.05, perCall: 5, base: 2 }),
  family('sonar', /sonar/, { base: 0, perMessage: 0, text: 1, formatBase: 0, formatText: 0 }, { bytesPerToken: 4.8, text: 1, perCall: 0, base: 0 }),
]

const OTHER = family('other', /(?:)/, {}, { bytesPerToken: 4, text: 1.05, perCall: 15, base: 2 })

const MAX_KNOWN = 1_000
const known = new Map<string, Family>()

/** Finds the family by the provider's name of a model, with any vendor, region or version in it. */
export function familyOf(model: string): Family {
  const found = known.get(model)
  if (found !== undefined) return found
  const name = model.toLowerCase()
  const family = FAMILIES.find(({ pattern }) => pattern.test(name)) ?? OTHER
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(model, family)
  return family
}

function family(name: string, pattern: RegExp, prompt: Partial<PromptCosts>, answer: AnswerCosts): Family {
  return { name, pattern, prompt: { ...USUAL, ...prompt }, answer }
}
