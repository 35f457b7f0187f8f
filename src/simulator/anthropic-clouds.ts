import { isRecord, type JsonObject } from './json.ts'
import { BadRequest, readMessagesPrompt, type Prompt } from './prompt.ts'

/** Fields that the clouds accept in a messages body. */
const FIELDS = new Set([
  'anthropic_version',
  'anthropic_beta',
  'max_tokens',
  'messages',
  'metadata',
  'output_config',
  'stop_sequences',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
])
/** Further fields that a beta flag allows. A flag that is not in this map is refused. */
const FIELDS_OF_BETAS: ReadonlyMap<string, readonly string[]> = new Map([
  ['context-management-2025-06-27', ['context_management']],
  ['compact-2026-01-12', ['context_management']],
  ['tool-search-tool-2025-10-19', ['tools.defer_loading']],
  ['computer-use-2025-01-24', []],
  ['computer-use-2025-11-24', []],
  ['context-1m-2025-08-07', []],
  ['dev-full-thinking-2025-05-14', []],
  ['interleaved-thinking-2025-05-14', []],
  ['output-128k-2025-02-19', []],
  ['token-efficient-tools-2025-02-19', []],
])
const TOOL_FIELDS_OF_THE_FIRST_PARTY = ['defer_loading', 'eager_input_streaming']

export interface CloudRules {
  readonly version: string
  readonly model: string
  readonly stream: boolean
  /** The beta flags of the request. */
  readonly betas: readonly string[]
  /** Fields that this cloud accepts besides `FIELDS`. */
  readonly more: readonly string[]
}

/** Reads a messages body as strictly as the clouds do. Throws BadRequest. */
export function readCloudPrompt(body: JsonObject, { version, model, stream, betas, more }: CloudRules): Prompt {
  if (body['anthropic_version'] === undefined) throw new BadRequest('anthropic_version: Field required')
  if (body['anthropic_version'] !== version) throw new BadRequest(`anthropic_version: Input should be '${version}'`)
  const allowed = new Set<string>(more)
  for (const beta of betas) {
    const fields = FIELDS_OF_BETAS.get(beta)
    if (fields === undefined) throw new BadRequest('invalid beta flag')
    for (const field of fields) allowed.add(field)
  }
  for (const name in body) {
    if (!FIELDS.has(name) && !allowed.has(name)) throw new BadRequest(`${name}: Extra inputs are not permitted`)
  }
  checkTools(body['tools'], allowed)
  checkMessages(body['messages'])
  return readMessagesPrompt({ ...body, model, stream }, true)
}

function checkTools(tools: unknown, allowed: ReadonlySet<string>): void {
  if (!Array.isArray(tools)) return
  for (const [at, tool] of tools.entries()) {
    if (!isRecord(tool)) throw new BadRequest(`tools.${at}: Input should be an object`)
    for (const name of TOOL_FIELDS_OF_THE_FIRST_PARTY) {
      if (name in tool && !allowed.has(`tools.${name}`)) {
        throw new BadRequest(`tools.${at}.custom.${name}: Extra inputs are not permitted`)
      }
    }
  }
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages)) return
  for (const [at, message] of messages.entries()) {
    if (!isRecord(message) || !Array.isArray(message['content'])) continue
    for (const [place, block] of message['content'].entries()) checkBlock(block, `messages.${at}.content.${place}`)
  }
}

function checkBlock(block: unknown, path: string): void {
  if (!isRecord(block)) throw new BadRequest(`${path}: Input should be an object`)
  if (block['type'] === 'thinking' && !isSignature(block['signature'])) {
    throw new BadRequest(`${path}: Invalid \`signature\` in \`thinking\` block`)
  }
  if (block['type'] === 'redacted_thinking' && !isSignature(block['data'])) {
    throw new BadRequest(`${path}: Invalid \`data\` in \`redacted_thinking\` block`)
  }
  const source = block['source']
  if (!isRecord(source)) return
  if (source['type'] === 'url')
    throw new BadRequest(`${path}.${String(block['type'])}.source: URL sources are not supported`)
  if (source['type'] === 'file') {
    throw new BadRequest(`${path}.${String(block['type'])}.source: Input tag 'file' found using 'type' does not match`)
  }
}

/** Real signatures are base64 and long; recordings have placeholders of the same form. */
function isSignature(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z0-9+/_-]{20,}={0,2}$/.test(value)
}
