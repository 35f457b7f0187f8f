import type { McpCaller } from './callers.ts'

/** A prompt, as `prompts/list` shows it. */
export interface Prompt {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments: ReadonlyArray<{ readonly name: string; readonly description: string; readonly required: boolean }>
}

interface PromptEntry extends Omit<Prompt, 'name'> {
  readonly text: (given: Readonly<Record<string, string>>) => string
}

const PERIOD = { name: 'period', description: 'Hours or days, like 24h or 30d. Default: 30d.', required: false }

/** The prompts, which use tools of users. */
const PROMPTS: Readonly<Record<string, PromptEntry>> = {
  explain_my_spend: {
    title: 'Explain my spend',
    description: 'Where the money went: by model, by key, and over time.',
    arguments: [PERIOD],
    text: ({ period = '30d' }) =>
      `Call usage_statistics for the period ${period} with group_by=model, and again with group_by=key. Costs are in millionths of the currency. Tell me which models and keys cost the most, how the cost changed over time, and which cheaper models of list_models could do the same work.`,
  },
  find_failed_requests: {
    title: 'Find failed requests',
    description: 'What went wrong lately, and why.',
    arguments: [PERIOD],
    text: ({ period = '24h' }) =>
      `Call usage_statistics for the period ${period} with group_by=status. For each status of 400 and above, call search_request_log with this status, and look at some of the requests with get_request. Tell me what went wrong, how often, and what to do about it.`,
  },
  compare_models: {
    title: 'Compare models',
    description: 'Ask several models the same, and compare answers and costs.',
    arguments: [{ name: 'question', description: 'The question.', required: true }],
    text: ({ question = '' }) =>
      `Choose three models of list_models with different prices. Ask each of them with chat_completion:\n\n${question}\n\nCompare the answers, the tokens and the costs.`,
  },
}

export function listPrompts(caller: McpCaller): Prompt[] {
  if (caller.kind === 'key') return []
  return Object.entries(PROMPTS).map(([name, { text: _, ...prompt }]) => ({ name, ...prompt }))
}

/** The text of a prompt; null: the caller has no such prompt. `missing` names an argument that it needs. */
export function promptText(
  caller: McpCaller,
  name: string,
  given: Readonly<Record<string, string>>,
): { readonly description: string; readonly text: string } | { readonly missing: string } | null {
  const entry = caller.kind === 'user' && Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined
  if (entry === undefined) return null
  const missing = entry.arguments.find((argument) => argument.required && (given[argument.name] ?? '') === '')
  if (missing !== undefined) return { missing: missing.name }
  return { description: entry.description, text: entry.text(given) }
}
