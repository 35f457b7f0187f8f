import { anthropicMessages } from './anthropic-messages.ts'
import { findBehaviour, parseBehaviour, type Behaviour } from './behaviour.ts'
import { HEALTHY, type Behaviours } from './behaviours.ts'
import type { RequestHead } from './http-head.ts'
import { isRecord } from './json.ts'
import type { OpenRequest } from './ledger.ts'
import { modelBody, modelsBody } from './models.ts'
import { openaiChat } from './openai-chat.ts'
import { BadRequest, readChatPrompt, readMessagesPrompt, type Prompt } from './prompt.ts'
import type { RecordedAnswer } from './recorded.ts'
import type { Refusal, ReplySubject } from './reply.ts'
import type { Route } from './routes.ts'

export interface SubjectParts {
  readonly route: Exclude<Route, { kind: 'control' }>
  readonly head: RequestHead
  readonly body: Buffer
  readonly id: string
  /** Learns the model and the user. */
  readonly record: OpenRequest
  readonly behaviours: Behaviours
  readonly recorded: ReadonlyMap<string, RecordedAnswer>
  readonly redirectTo: string
}

/** Reads a whole request: what it wants, how it is to be treated, and whether the provider would refuse it. */
export function readSubject(parts: SubjectParts): { readonly subject: ReplySubject; readonly behaviour: Behaviour } {
  const { route, head, record, behaviours } = parts
  const isMessages = route.kind === 'messages' || route.kind === 'count-tokens'
  const speaksAnthropic = isMessages || head.headers['anthropic-version'] !== undefined
  let prompt: Prompt | null = null
  let ofRequest: Behaviour | null = null
  let refusal: Refusal | null = null
  try {
    ofRequest = steeringOfHeader(head)
    prompt = readPrompt(parts)
    if (prompt !== null) {
      record.model = prompt.model
      record.user = prompt.user
      const written = findBehaviour(prompt.lastUserText)
      if (written !== null) ofRequest = { ...ofRequest, ...written }
    }
  } catch (cause) {
    refusal = refusalOf(cause)
  }
  let behaviour = behaviours.take(record.credential, ofRequest)
  const { requireKey, recorded: recordedId } = behaviour
  if (requireKey !== undefined && !requireKey.includes(record.credential)) refusal = { status: 401 }
  else if (route.kind === 'unknown') {
    refusal = { status: 404, message: `Invalid URL (${head.method} ${head.path})`, code: null }
  }
  const recorded = recordedId === undefined ? null : (parts.recorded.get(recordedId) ?? null)
  if (recordedId !== undefined && recorded === null) {
    refusal = { status: 400, message: `simulator: no recorded answer "${recordedId}"` }
  }
  // A refusal is as quick and as well-formed as the provider's own.
  if (refusal !== null) behaviour = HEALTHY
  const answered: Prompt | null = route.kind === 'count-tokens' ? null : prompt
  const subject: ReplySubject = {
    wire: speaksAnthropic ? anthropicMessages : openaiChat,
    id: parts.id,
    prompt: answered,
    body: answered === null && refusal === null ? fixedBody(parts, prompt, behaviour, speaksAnthropic) : '',
    recorded,
    redirectTo: parts.redirectTo,
    refusal,
  }
  return { subject, behaviour }
}

function readPrompt({ route, head, body }: SubjectParts): Prompt | null {
  if (route.kind !== 'chat' && route.kind !== 'messages' && route.kind !== 'count-tokens') return null
  if (route.kind !== 'chat' && head.headers['anthropic-version'] === undefined) {
    throw new BadRequest('anthropic-version: header is required')
  }
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    const text = 'We could not parse the JSON body of your request. The API expects a JSON payload.'
    throw new BadRequest(route.kind === 'chat' ? text : 'The request body is not valid JSON')
  }
  if (!isRecord(value)) throw new BadRequest('Invalid body: expected a JSON object.')
  return route.kind === 'chat' ? readChatPrompt(value) : readMessagesPrompt(value, route.kind === 'messages')
}

function steeringOfHeader(head: RequestHead): Behaviour | null {
  const text = head.headers['x-sim']
  if (text === undefined) return null
  // Headers are read as Latin-1; raw sockets write UTF-8 into them, fetch Latin-1.
  const decoded = Buffer.from(text, 'latin1').toString('utf8')
  return parseBehaviour(JSON.parse(decoded.includes('\ufffd') ? text : decoded))
}

function refusalOf(cause: unknown): Refusal {
  if (cause instanceof BadRequest) return { status: 400, message: cause.message, param: cause.param, code: cause.code }
  return { status: 400, message: `simulator: ${cause instanceof Error ? cause.message : String(cause)}` }
}

function fixedBody({ route }: SubjectParts, prompt: Prompt | null, behaviour: Behaviour, anthropic: boolean): string {
  switch (route.kind) {
    case 'count-tokens':
      return `{"input_tokens":${behaviour.promptTokens ?? prompt?.promptTokens ?? 0}}`
    case 'models':
      return modelsBody(behaviour.models, anthropic)
    case 'model':
      return modelBody(route.id, anthropic)
    default:
      return '{}'
  }
}
