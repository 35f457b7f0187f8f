import { expect, it } from 'vitest'
import { textLength } from '../../../src/dialects/common/estimate-tokens.ts'
import { countAnswer } from '../../../src/front/tokens/count-answer.ts'
import { countPrompt } from '../../../src/front/tokens/count-prompt.ts'
import { familyOf } from '../../../src/front/tokens/families.ts'
import { countTextTokens } from '../../../src/front/tokens/tokenizer.ts'
import { createValidator } from '../../../src/front/validation/validate.ts'
import { loadCountedTraffic } from '../../support/counted-traffic.ts'

/** Fewer tokens than this are all overhead: an error of two would count for much. */
const MIN_TOKENS = 10

const { cases, leftOut } = loadCountedTraffic()
const validator = createValidator({ maxDepth: 64, maxElements: 1_000_000 })

interface Row {
  readonly family: string
  readonly id: string
  readonly recorded: number
  /** By name of the rule. */
  readonly errors: Readonly<Record<string, number>>
}

const prompts: Row[] = cases.flatMap(({ id, model, prompt, body }) => {
  if (prompt === null) return []
  const counted = countPrompt(prompt.conversation, model, countTextTokens)
  const endpoint = prompt.conversation.from === 'openai-chat' ? 'chat.completions' : 'messages.count_tokens'
  const estimated = estimateOf(endpoint, body)
  const errors = { counted: error(counted, prompt.tokens), scanned: error(estimated, prompt.tokens) }
  return [{ family: familyOf(model).name, id, recorded: prompt.tokens, errors }]
})

const answers: Row[] = cases.flatMap(({ id, model, answer }) => {
  if (answer === null) return []
  const { content } = answer.answer
  const counted = countAnswer(content, model, countTextTokens)
  const bytes = textLength(content)
  const byBytes = Math.ceil(bytes / familyOf(model).answer.bytesPerToken)
  const errors = {
    counted: error(counted, answer.tokens),
    bytes: error(byBytes, answer.tokens),
    four: error(Math.ceil(bytes / 4), answer.tokens),
  }
  return [{ family: familyOf(model).name, id, recorded: answer.tokens, errors }]
})

it('counts the prompts of recorded traffic as their providers did, within bounds', () => {
  report('prompts', prompts, ['counted', 'scanned'])
  expect(prompts.length).toBeGreaterThan(300)
  expect(quantile(prompts, 'counted', 0.5)).toBeLessThan(0.08)
  expect(quantile(prompts, 'counted', 0.9)).toBeLessThan(0.5)
  for (const [family, rows] of byFamily(prompts)) {
    if (rows.length >= 8) expect(quantile(rows, 'counted', 0.5), family).toBeLessThan(0.25)
  }
})

it('counts the answers of recorded traffic as their providers did, within bounds', () => {
  report('answers', answers, ['counted', 'bytes', 'four'])
  expect(answers.length).toBeGreaterThan(400)
  expect(quantile(answers, 'counted', 0.5)).toBeLessThan(0.12)
  expect(quantile(answers, 'counted', 0.9)).toBeLessThan(0.6)
  expect(quantile(answers, 'bytes', 0.5)).toBeLessThan(0.35)
  expect(quantile(answers, 'bytes', 0.5)).toBeLessThan(quantile(answers, 'four', 0.5))
  for (const [family, rows] of byFamily(answers)) {
    // Grok counts reasoning that it does not tell of.
    if (rows.length >= 8 && family !== 'grok') expect(quantile(rows, 'counted', 0.5), family).toBeLessThan(0.25)
  }
})

function estimateOf(endpoint: 'chat.completions' | 'messages.count_tokens', body: Buffer): number {
  try {
    return validator.validate(endpoint, body).estimatedPromptTokens
  } catch {
    // What a provider took and the gateway refuses.
    return 0
  }
}

function error(counted: number, recorded: number): number {
  return Math.abs(counted - recorded) / Math.max(recorded, MIN_TOKENS)
}

function quantile(rows: readonly Row[], rule: string, share: number): number {
  const errors = rows.map(({ errors }) => errors[rule] ?? NaN).sort((a, b) => a - b)
  return errors[Math.min(errors.length - 1, Math.floor(share * errors.length))] ?? NaN
}

function byFamily(rows: readonly Row[]): Map<string, Row[]> {
  const families = new Map<string, Row[]>()
  for (const row of rows) families.set(row.family, [...(families.get(row.family) ?? []), row])
  return families
}

/** The tables of the README. */
function report(what: string, rows: readonly Row[], rules: readonly string[]): void {
  const percent = (value: number): string => `${Math.round(value * 100)} %`
  const line = (name: string, some: readonly Row[]): string =>
    `| ${[name, some.length, ...rules.flatMap((rule) => [0.5, 0.9].map((q) => percent(quantile(some, rule, q))))].join(' | ')} |`
  const families = [...byFamily(rows)].sort((a, b) => b[1].length - a[1].length)
  console.info(
    [
      `${rows.length} ${what}; left out: ${[...leftOut].map(([reason, count]) => `${count} (${reason})`).join(', ')}`,
      `| family | cases | ${rules.map((rule) => `${rule}: median | p90`).join(' | ')} |`,
      ...families.map(([family, some]) => line(family, some)),
      line('all', rows),
    ].join('\n'),
  )
}
