import { FAILURE_RULES } from '../../src/front/gateway/failure-rules.ts'
import { ERROR_CODES } from '../../src/shared/core/errors.ts'
import { asksAnother, toldCode } from './upstream-fault.ts'
import type { Expectation, FaultGroup, UpstreamFault } from './upstream-fault.ts'

const INTRODUCTION = `# What comes of an upstream's faults

Made of \`test/fault/upstream-fault-table.ts\`, which the gateway is held to in both dialects; \`vitest -u\` of
\`test/unit/docs/upstream-faults.test.ts\` writes it anew.

- Before the first byte has gone downstream the client gets an error in its dialect, or another key's answer: **next key** says
  whether another one is tried, \`upstream.max_attempts\` in all (3). Nothing is booked for an attempt that came to nothing.
- After the first byte nothing is tried again: the stream ends with one error event (chat: \`data: {"error":…}\` without
  \`[DONE]\`; messages: \`event: error\` without \`message_stop\`). What had passed is booked, with the settlement \`observed\`.
- \`observed\` behind a 200 means that the upstream's own count of tokens is missing or not to be believed: the text that passed
  was counted.
- **Key**: *in use*: nothing comes of one such answer, but several failures in a row open the key's breaker; *rests*: is left
  alone for about a second; *rests as told*: for as long as \`retry-after\` says; *out*: for a minute or more.
- \`timeouts.idle_ms\` is the longest time without a step of the answer: an event of a stream (comments and pings are events), a KiB of any
  body, a blank line before a body begins. \`timeouts.total_ms\` is for all attempts of a request together.
- No answer shows the upstream's host, credentials or accounts.
`

const RULES = `## What an upstream says, whatever its status

Made of \`src/front/gateway/failure-rules.ts\`. \`UPSTREAM_AUTH\`: the key is taken out and another one is tried; no client reads why.
\`UPSTREAM_NOT_FOUND\`: another key is tried; when all say so, the client gets 404 \`MODEL_NOT_FOUND\`.
\`CONTEXT_LENGTH_EXCEEDED\`: clients of chat and responses read the code \`context_length_exceeded\`, clients of messages a text
that begins \`prompt is too long\`.
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
