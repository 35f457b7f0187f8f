import { anthropicMessages } from './anthropic-messages.ts'
import { azureOpenai, readAzurePrompt } from './azure-openai.ts'
import { findBehaviour, parseBehaviour, toolsOf, type Behaviour, type ToolAnswer } from './behaviour.ts'
import { HEALTHY, type Behaviours } from './behaviours.ts'
import { bedrockConverse } from './bedrock-converse.ts'
import { bedrockInvoke, readInvokePrompt } from './bedrock-invoke.ts'
import { cohereChat, readCoherePrompt } from './cohere-chat.ts'
import { readConversePrompt } from './converse-prompt.ts'
import { gemini } from './gemini.ts'
import { readGeminiPrompt } from './gemini-prompt.ts'
import type { RequestHead } from './http-head.ts'
import { isRecord, type JsonObject } from './json.ts'
import type { OpenRequest } from './ledger.ts'
import { modelBody, modelsBody } from './models.ts'
import { openaiChat } from './openai-chat.ts'
import { jsonAnswer, readPlainRequest, type PlainAnswer, type PlainRequest } from './plain-request.ts'
import { BadRequest, readChatPrompt, readMessagesPrompt, type Prompt } from './prompt.ts'
import type { RecordedAnswer } from './recorded.ts'
import type { Refusal, ReplySubject } from './reply.ts'
import type { Route } from './routes.ts'
import { readVertexPrompt, vertexMessages } from './vertex-messages.ts'
import { inItsWords, picturesOfGemini, placeOf } from './services/foreign.ts'
import { OWN_SERVICES } from './services/own.ts'
import type { VideoJobs } from './video-jobs.ts'
import type { Wire } from './wire.ts'

export interface SubjectParts {
  readonly route: Exclude<Route, { kind: 'control' }>
  readonly head: RequestHead
  readonly body: Buffer
  readonly id: string
  /** `readSubject` sets its model and user. */
  readonly record: OpenRequest
  readonly behaviours: Behaviours
  readonly recorded: ReadonlyMap<string, RecordedAnswer>
  readonly redirectTo: string
  readonly videos: VideoJobs
}

/** Reads a whole request: its subject, its behaviour, and whether the provider would refuse it. */
export function readSubject(given: SubjectParts): { readonly subject: ReplySubject; readonly behaviour: Behaviour } {
  const parts = { ...given, route: routeByBody(given) }
  const { route, head, record, behaviours } = parts
  const isMessages = route.kind === 'messages' || route.kind === 'count-tokens'
  const speaksAnthropic = isMessages || head.headers['anthropic-version'] !== undefined
  let prompt: Prompt | null = null
  let request: PlainRequest | null = null
  let ofRequest: Behaviour | null = null
  let refusal: Refusal | null = null
  try {
    ofRequest = steeringOfHeader(head)
    prompt = readPrompt(parts)
    request = readPlain(parts)
    const asked = prompt ?? request
    if (asked !== null) {
      record.model = asked.model
      record.user = asked.user
      const written = findBehaviour(prompt?.scripted?.text ?? prompt?.lastUserText ?? request?.text ?? '')
      if (written !== null) ofRequest = { ...ofRequest, ...(prompt === null ? written : turnOf(written, prompt)) }
    }
  } catch (cause) {
    refusal = refusalOf(cause)
  }
  let behaviour = behaviours.take(record.credential, ofRequest)
  const { requireKey, recorded: recordedId } = behaviour
  const wire = wireOf(route, speaksAnthropic)
  if (requireKey !== undefined && !requireKey.includes(record.credential)) refusal = { status: wire.unauthorizedStatus }
  else if (route.kind === 'unknown') {
    refusal = { status: 404, message: `Invalid URL (${head.method} ${head.path})`, code: null }
  }
  const recorded = recordedId === undefined ? null : (parts.recorded.get(recordedId) ?? null)
  if (recordedId !== undefined && recorded === null) {
    refusal = { status: 400, message: `simulator: no recorded answer "${recordedId}"` }
  }
  let plain = jsonAnswer('{}')
  if (refusal === null && (prompt === null || countsTokens(route)) && (behaviour.status ?? 200) < 400) {
    try {
      plain = plainAnswer(parts, { prompt, request, behaviour, speaksAnthropic })
    } catch (cause) {
      refusal = refusalOf(cause)
    }
  }
  // A refusal has no delay and no fault.
  if (refusal !== null) behaviour = HEALTHY
  const subject: ReplySubject = {
    wire,
    id: parts.id,
    prompt: countsTokens(route) ? null : prompt,
    plain,
    recorded,
    redirectTo: parts.redirectTo,
    refusal,
  }
  return { subject, behaviour }
}

/** The behaviour with its `turns` replaced by the one for the current turn. */
function turnOf({ turns, ...written }: Behaviour, { scripted, tools }: Prompt): Behaviour {
  const turn = turns?.[scripted?.turn ?? 0]
  if (turn === undefined) return written
  const isDeclared = (called: ToolAnswer): boolean => tools.some(({ name }) => name === called.name)
  return { ...written, ...turn, ...(toolsOf(turn).every(isDeclared) ? null : { tool: [] }) }
}

function countsTokens({ kind }: Route): boolean {
  return kind === 'count-tokens' || kind === 'gemini-tokens'
}

/** Gemini serves pictures under the path of conversations: the body decides. */
function routeByBody({ route, head, body }: SubjectParts): SubjectParts['route'] {
  if (route.kind !== 'gemini' || !body.includes('"IMAGE"')) return route
  const service = picturesOfGemini(head, readJson(body, false))
  return service === null ? route : { kind: 'service', service }
}

function wireOf(route: Route, speaksAnthropic: boolean): Wire {
  switch (route.kind) {
    case 'service':
      return route.service.wire
    case 'look':
      return route.look.wire
    case 'converse':
      return bedrockConverse
    case 'invoke':
      return bedrockInvoke
    case 'vertex-messages':
      return vertexMessages
    case 'cohere':
      return cohereChat
    case 'azure':
      return azureOpenai
    case 'gemini':
    case 'gemini-tokens':
      return gemini
    default:
      return speaksAnthropic ? anthropicMessages : openaiChat
  }
}

function readPrompt({ route, head, body }: SubjectParts): Prompt | null {
  switch (route.kind) {
    case 'chat':
      return readChatPrompt(readJson(body, true))
    case 'azure':
      return readAzurePrompt(readJson(body, true), head)
    case 'cohere':
      return readCoherePrompt(readJson(body, false))
    case 'converse':
      return readConversePrompt(readJson(body, false), route)
    case 'invoke':
      return readInvokePrompt(readJson(body, false), route)
    case 'vertex-messages':
      return readVertexPrompt(readJson(body, false), route, head)
    case 'gemini':
    case 'gemini-tokens':
      return readGeminiPrompt(readJson(body, false), route, head.query)
    case 'messages':
    case 'count-tokens':
      if (head.headers['anthropic-version'] === undefined) throw new BadRequest('anthropic-version: header is required')
      return readMessagesPrompt(readJson(body, false), route.kind === 'messages')
    default:
      return null
  }
}

function readPlain({ route, head, body }: SubjectParts): PlainRequest | null {
  switch (route.kind) {
    case 'service': {
      const { service } = route
      const asked = readJson(body, false)
      return readPlainRequest(
        OWN_SERVICES[service.kind].textsOf,
        service.read(asked, placeOf(head, service.path, asked)),
      )
    }
    case 'own':
      return readPlainRequest(OWN_SERVICES[route.service].textsOf, readJson(body, true))
    default:
      return null
  }
}

function readJson(body: Buffer, inWordsOfOpenai: boolean): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    const text = 'We could not parse the JSON body of your request. The API expects a JSON payload.'
    throw new BadRequest(inWordsOfOpenai ? text : 'The request body is not valid JSON')
  }
  if (!isRecord(value)) throw new BadRequest('Invalid body: expected a JSON object.')
  return value
}

function steeringOfHeader(head: RequestHead): Behaviour | null {
  const text = head.headers['x-sim']
  if (text === undefined) return null
  // Headers are read as Latin-1. Raw sockets write them in UTF-8, `fetch` in Latin-1.
  const decoded = Buffer.from(text, 'latin1').toString('utf8')
  return parseBehaviour(JSON.parse(decoded.includes('\ufffd') ? text : decoded))
}

function refusalOf(cause: unknown): Refusal {
  if (cause instanceof BadRequest) {
    const { status, message, param, code } = cause
    return { status, message, param, code }
  }
  return { status: 400, message: `simulator: ${cause instanceof Error ? cause.message : String(cause)}` }
}

interface Asked {
  readonly prompt: Prompt | null
  readonly request: PlainRequest | null
  readonly behaviour: Behaviour
  readonly speaksAnthropic: boolean
}

/** The answer to a request that is not a conversation. Throws BadRequest. */
function plainAnswer(parts: SubjectParts, asked: Asked): PlainAnswer {
  const { route, head, videos, record } = parts
  const { prompt, request, behaviour, speaksAnthropic } = asked
  switch (route.kind) {
    case 'look': {
      const { look } = route
      const { path } = look
      const jobs = {
        tell: (job: string) => JSON.parse(String(videos.poll(job, record.credential).body)) as JsonObject,
        content: (job: string) => videos.content(job, record.credential),
        open: (job: string) => videos.open(job),
      }
      return look.look(path.exec(head.path)?.slice(1) ?? [], jobs, placeOf(head, path, {}))
    }
    case 'count-tokens':
      return jsonAnswer(`{"input_tokens":${behaviour.promptTokens ?? prompt?.promptTokens ?? 0}}`)
    case 'gemini-tokens':
      return jsonAnswer(`{"totalTokens":${behaviour.promptTokens ?? prompt?.promptTokens ?? 0}}`)
    case 'models':
      return jsonAnswer(modelsBody(behaviour.models, speaksAnthropic))
    case 'model':
      return jsonAnswer(modelBody(route.id, speaksAnthropic))
    case 'video':
      return videos.poll(route.id, record.credential)
    case 'video-content':
      return videos.content(route.id, record.credential)
    default:
  }
  if (request === null) return jsonAnswer('{}')
  if (route.kind === 'service') {
    const { service } = route
    const plain = OWN_SERVICES[service.kind].answer(request, behaviour, parts)
    return inItsWords(service, plain, placeOf(head, service.path, readJson(parts.body, false)))
  }
  return route.kind === 'own' ? OWN_SERVICES[route.service].answer(request, behaviour, parts) : jsonAnswer('{}')
}
