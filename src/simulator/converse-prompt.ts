import { isRecord, type JsonObject } from './json.ts'
import { BadRequest, MessageReader, positiveInteger, toolList, type Prompt, type ToolChoice } from './prompt.ts'

const ID = /^[a-zA-Z0-9_.:-]{1,64}$/
const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const DOCUMENT_NAME = /^(?:[A-Za-z0-9()[\]-]| (?! ))+$/

/** Reads a body of Converse and checks it by the rules of the service. Throws BadRequest with the service's wording. */
export function readConversePrompt(
  body: JsonObject,
  { model, stream }: { readonly model: string; readonly stream: boolean },
): Prompt {
  const messages = body['messages']
  if (!Array.isArray(messages) || messages.length === 0) throw new BadRequest('messages: Field required')
  const reader = new MessageReader()
  reader.add('system', body['system'], undefined)
  const checker = new TurnChecker()
  for (const message of messages as unknown[]) {
    if (!isRecord(message) || typeof message['role'] !== 'string') throw new BadRequest('messages: role is required')
    checker.check(message['role'], message['content'])
    reader.add(message['role'], message['content'], undefined)
  }
  checker.finish()
  const config = isRecord(body['toolConfig']) ? body['toolConfig'] : {}
  const specs = Array.isArray(config['tools']) ? (config['tools'] as unknown[]) : []
  const tools = toolList(
    specs.map((tool) => (isRecord(tool) ? tool['toolSpec'] : null)),
    (spec) => ({ ...spec, schema: isRecord(spec['inputSchema']) ? spec['inputSchema']['json'] : undefined }),
    'schema',
  )
  if (checker.usesTools && specs.length === 0) {
    throw new BadRequest('The toolConfig field must be defined when using toolUse and toolResult content blocks.')
  }
  for (const { name } of tools) if (!NAME.test(name)) throw new BadRequest(`The tool name ${name} is not valid`)
  const inference = isRecord(body['inferenceConfig']) ? body['inferenceConfig'] : {}
  return {
    model,
    stream,
    includeUsage: true,
    choices: 1,
    maxTokens: positiveInteger(inference['maxTokens'], 'inferenceConfig.maxTokens'),
    user: null,
    lastUserText: reader.lastUserText,
    scripted: reader.scripted,
    toolResult: reader.toolResult,
    promptTokens: Math.max(1, reader.tokens),
    tools,
    toolChoice: choiceOf(config['toolChoice']),
  }
}

function choiceOf(choice: unknown): ToolChoice {
  if (!isRecord(choice)) return { mode: 'auto' }
  if (isRecord(choice['tool']) && typeof choice['tool']['name'] === 'string') {
    return { mode: 'named', name: choice['tool']['name'] }
  }
  return { mode: 'any' in choice ? 'any' : 'auto' }
}

/** Checks that turns alternate, are not empty, and that each turn answers all calls of the turn before it. */
class TurnChecker {
  usesTools = false
  #role = 'assistant'
  #calls: string[] = []
  readonly #documents = new Set<string>()

  check(role: string, content: unknown): void {
    if (role !== 'user' && role !== 'assistant') throw new BadRequest(`messages: role ${role} is not supported`)
    if (role === this.#role) {
      throw new BadRequest(
        'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
      )
    }
    this.#role = role
    const blocks = Array.isArray(content) ? (content as unknown[]).filter(isRecord) : []
    if (blocks.length === 0) throw new BadRequest('The content field in the Message object is empty.')
    const results: string[] = []
    for (const block of blocks) this.#checkBlock(block, results)
    if (blocks.some((block) => 'document' in block) && !blocks.some((block) => 'text' in block)) {
      throw new BadRequest('A text block is required when a document is included.')
    }
    const open = this.#calls.filter((id) => !results.includes(id))
    if (open.length > 0) {
      throw new BadRequest(`Expected toolResult blocks at messages for the following Ids: ${open.join(', ')}`)
    }
    if (results.some((id) => !this.#calls.includes(id))) {
      throw new BadRequest('The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.')
    }
    this.#calls = blocks.flatMap((block) => (isRecord(block['toolUse']) ? [String(block['toolUse']['toolUseId'])] : []))
  }

  finish(): void {
    if (this.#calls.length > 0) throw new BadRequest('Expected toolResult blocks after toolUse blocks.')
  }

  #checkBlock(block: JsonObject, results: string[]): void {
    const { text, toolUse, toolResult, document, image } = block
    if (typeof text === 'string' && text.trim() === '')
      throw new BadRequest('The text field in the ContentBlock is blank.')
    if (isRecord(toolUse)) this.#checkId(toolUse['toolUseId'])
    if (isRecord(toolResult)) results.push(this.#checkId(toolResult['toolUseId']))
    if (isRecord(document)) this.#checkDocument(document['name'])
    if (isRecord(image) && !['png', 'jpeg', 'gif', 'webp'].includes(String(image['format']))) {
      throw new BadRequest(`The image format ${String(image['format'])} is not supported`)
    }
  }

  #checkId(id: unknown): string {
    this.usesTools = true
    if (typeof id === 'string' && ID.test(id)) return id
    throw new BadRequest(`Value at toolUseId failed to satisfy constraint: ${ID.source}`)
  }

  #checkDocument(name: unknown): void {
    if (typeof name !== 'string' || !DOCUMENT_NAME.test(name))
      throw new BadRequest('The document file name is not valid.')
    if (this.#documents.has(name)) throw new BadRequest('Document names must be unique.')
    this.#documents.add(name)
  }
}
