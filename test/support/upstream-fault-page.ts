import { FAILURE_RULES } from '../../src/front/gateway/failure-rules.ts'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import { asksAnother, toldCode } from './upstream-fault.ts'
import type { Expectation, FaultGroup, UpstreamFault } from './upstream-fault.ts'

const INTRODUCTION = `# The effects of upstream faults

Generated from \`test/fault/upstream-fault-table.ts\`, which tests check against the gateway in both dialects. \`vitest -u\` on
\`test/unit/docs/upstream-faults.test.ts\` generates it again.

- Before the first byte has gone downstream, the client gets an error in its dialect, or the answer of another key. **Next key** tells
  whether the gateway tries another key, up to \`upstream.max_attempts\` (3) in all. It books nothing for a failed attempt.
- After the first byte the gateway does not try again: the stream ends with one error event (chat: \`data: {"error":…}\` without
  \`[DONE]\`; messages: \`event: error\` without \`message_stop\`). It books the text that passed, with the settlement \`observed\`.
- \`observed\` after a 200 means that the upstream's count of tokens is missing or implausible, so the gateway counted the text that
  passed.
- **Key**: *in use*: one such answer has no effect, but several failures in a row open the key's circuit breaker; *rests*: the
  scheduler does not use the key for about a second; *rests as told*: for the time that the upstream names; *out*: for a minute or more.
- \`timeouts.idle_ms\` is the longest time without progress of the answer: an event of a stream (comments and pings are events), a KiB of any
  body, a blank line before a body begins. \`timeouts.total_ms\` bounds all attempts of a request together.
- No answer shows the upstream's host, credentials or accounts.
`

const RULES = `## Failures recognised by their text

Generated from \`src/front/gateway/failure-rules.ts\`. \`UPSTREAM_AUTH\`: the scheduler stops using the key, the gateway tries another
one, and no client sees the reason. \`UPSTREAM_NOT_FOUND\`: the gateway tries another key; when every key answers so, the client gets
404 \`MODEL_NOT_FOUND\`. \`CONTEXT_LENGTH_EXCEEDED\`: clients of chat and responses get the code \`context_length_exceeded\`, clients of
messages a text that begins \`prompt is too long\`.
`

/** Renders the table as a page, without formatting. */
export function renderFaultPage(groups: readonly FaultGroup[]): string {
  return `${INTRODUCTION}\n${groups.map(section).join('\n')}\n${rules()}`
}

function rules(): string {
  const head = '| provider | status | says | is |\n| --- | --- | --- | --- |'
  const lines = FAILURE_RULES.map(({ provider, when: { status, word, message }, is }) => {
    const says = [word === undefined ? [] : `\`${word}\``, message === undefined ? [] : `\`${String(message)}\``].flat()
    return `| ${provider} | ${status?.join(', ') ?? 'any'} | ${says.join(' and ').replaceAll('|', '\\|')} | \`${is}\` |`
  })
  return `${RULES}\n${head}\n${lines.join('\n')}\n`
}

function section({ title, faults }: FaultGroup): string {
  const head = '| the upstream … | whole answer | stream | next key | key |\n| --- | --- | --- | --- | --- |'
  return `## ${title}\n\n${head}\n${faults.map(line).join('\n')}\n`
}

function line(fault: UpstreamFault): string {
  const { upstream, buffered, streamed, only } = fault
  const exceptions = Object.entries(only ?? {}).flatMap(([dialect, outcomes]) =>
    [outcomes.buffered ?? null, outcomes.streamed ?? null]
      .filter((one) => one !== null)
      .map((one) => `${textOf(one)} in ${dialect}`),
  )
  const stream = [textOf(streamed), ...exceptions].join('; ')
  const all = [buffered, streamed].filter((one) => one !== null)
  const cells = [upstream, textOf(buffered), stream, nextKey(all), keyAfter(all)]
  return `| ${cells.join(' | ')} |`
}

function textOf(expected: Expectation | null): string {
  switch (expected?.kind) {
    case undefined:
      return '—'
    case 'refused':
      return `${ERROR_CODES[toldCode(expected)].status} \`${toldCode(expected)}\``
    case 'broken':
      return `200, then \`${expected.code}\``
    case 'whole':
      return expected.settlement === 'exact' ? '200' : `200, \`${expected.settlement}\``
  }
}

function nextKey(all: readonly Expectation[]): string {
  const answers = all.map((one) => (one.kind === 'refused' && asksAnother(one) ? 'yes' : 'no'))
  if (new Set(answers).size === 1) return answers[0] ?? ''
  return answers[0] === 'yes' ? 'whole answer: yes' : 'stream: yes'
}

function keyAfter(all: readonly Expectation[]): string {
  return [...new Set(all.map((one) => (one.kind === 'refused' ? one.key : 'in use')))].join(', ')
}
