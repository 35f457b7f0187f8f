import { isRecord, type JsonObject } from './json.ts'
import { BadRequest, type Prompt, type ToolChoice, type ToolDefinition } from './prompt.ts'
import { countTokens } from './tokens.ts'

const PART_DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
]
const SCHEMA_KEYWORDS = new Set(
  (
    'type format title description nullable enum items minItems maxItems properties required propertyOrdering minimum ' +
    'maximum minLength maxLength pattern anyOf default example minProperties maxProperties'
  ).split(' '),
)
const SIGNED_MODEL = /^gemini-(?:[3-9]|\d\d)/

/** Reads a body of generateContent or countTokens as strictly as the service. Throws BadRequest with its wording. */
export function readGeminiPrompt(
  given: JsonObject,
  route: { readonly model: string; readonly stream: boolean },
  query: string,
): Prompt {
  // Without `alt=sse` the service streams a JSON array; the gateway must never request that.
  if (route.stream && new URLSearchParams(query).get('alt') !== 'sse') {
    throw new BadRequest('simulator: a stream is asked for with alt=sse')
  }
  const body = isRecord(given['generateContentRequest']) ? given['generateContentRequest'] : given
  const { contents } = body
  if (!Array.isArray(contents) || contents.length === 0) {
    throw new BadRequest('* GenerateContentRequest.contents: contents is not specified\n')
  }
  const reader = new ContentReader(SIGNED_MODEL.test(route.model))
  reader.instruct(body['systemInstruction'])
  contents.forEach((content: unknown, index) => {
    reader.add(content, index)
  })
  reader.finish()
  const config = isRecord(body['generationConfig']) ? body['generationConfig'] : {}
  checkSchema(config['responseSchema'], 'generation_config.response_schema')
  const maxTokens = config['maxOutputTokens']
  return {
    model: route.model,
    stream: route.stream,
    includeUsage: true,
    choices: 1,
    maxTokens: typeof maxTokens === 'number' && maxTokens > 0 ? maxTokens : null,
    user: null,
    lastUserText: reader.lastUserText,
    scripted: null,
    toolResult: reader.toolResult,
    promptTokens: Math.max(1, reader.tokens),
    tools: toolsOf(body['tools']),
    toolChoice: toolChoiceOf(body['toolConfig']),
  }
}

class ContentReader {
  tokens = 0
  lastUserText = ''
  toolResult: string | null = null
  readonly #signed: boolean
  /** Number of calls of the last turn that have no result yet. */
  #waiting = 0

  constructor(signed: boolean) {
    this.#signed = signed
  }

  instruct(instruction: unknown): void {
    for (const part of partsOf(instruction)) this.#count(part['text'])
  }

  add(content: unknown, index: number): void {
    const place = `contents[${index}]`
    const role = isRecord(content) ? (content['role'] ?? 'user') : null
    if (role !== 'user' && role !== 'model') throw new BadRequest('Please use a valid role: user, model.')
    const parts = partsOf(content)
    if (parts.length === 0) {
      throw new BadRequest(`* GenerateContentRequest.${place}.parts: contents.parts must not be empty.\n`)
    }
    for (const part of parts) if (PART_DATA.filter((name) => name in part).length !== 1) throw oneofError(place)
    if (role === 'model') this.#addModel(parts, place)
    else this.#addUser(parts)
  }

  finish(): void {
    if (this.#waiting > 0) throw unanswered()
  }

  #addModel(parts: readonly JsonObject[], place: string): void {
    if (this.#waiting > 0) throw unanswered()
    this.toolResult = null
    const calls = parts.filter((part) => isRecord(part['functionCall']))
    this.#waiting = calls.length
    if (this.#signed && calls[0] !== undefined && typeof calls[0]['thoughtSignature'] !== 'string') {
      throw new BadRequest(`Function call is missing a thought_signature in functionCall parts (${place}).`)
    }
    for (const part of parts) {
      this.#count(part['text'])
      const call = part['functionCall']
      if (isRecord(call)) this.#count(call['name'], JSON.stringify(call['args'] ?? {}))
    }
  }

  #addUser(parts: readonly JsonObject[]): void {
    const texts: string[] = []
    let result: string | null = null
    let results = 0
    for (const part of parts) {
      if (typeof part['text'] === 'string') texts.push(this.#count(part['text']))
      const response = part['functionResponse']
      if (!isRecord(response)) continue
      if (!isRecord(response['response']))
        throw new BadRequest("Invalid value at 'function_response.response' (Struct)")
      results++
      const said = response['response']['result'] ?? response['response']
      result = this.#count(typeof said === 'string' ? said : JSON.stringify(said))
    }
    if (results !== this.#waiting) throw unanswered()
    this.#waiting = 0
    if (texts.length > 0) this.lastUserText = texts.join('\n')
    this.toolResult = texts.length > 0 && result === null ? null : result
  }

  /** Counts the tokens of all texts. @returns the first text */
  #count(...texts: readonly unknown[]): string {
    for (const text of texts) if (typeof text === 'string') this.tokens += countTokens(text)
    return typeof texts[0] === 'string' ? texts[0] : ''
  }
}

function unanswered(): BadRequest {
  return new BadRequest(
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  )
}

function oneofError(place: string): BadRequest {
  return new BadRequest(
    `* GenerateContentRequest.${place}.parts: contents.parts.data: required oneof field 'data' must have one initialized field\n`,
  )
}

function partsOf(content: unknown): JsonObject[] {
  return isRecord(content) && Array.isArray(content['parts']) ? content['parts'].filter(isRecord) : []
}

function toolsOf(tools: unknown): ToolDefinition[] {
  const found: ToolDefinition[] = []
  for (const tool of Array.isArray(tools) ? tools : []) {
    const declarations: unknown = isRecord(tool) ? tool['functionDeclarations'] : null
    for (const declaration of Array.isArray(declarations) ? declarations : []) {
      if (!isRecord(declaration) || typeof declaration['name'] !== 'string') continue
      const { name, parameters } = declaration
      if (!/^[A-Za-z_][\w.:-]{0,63}$/.test(name)) {
        throw new BadRequest(
          'Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
        )
      }
      checkSchema(parameters, 'tools[0].function_declarations[0].parameters')
      found.push({ name, schema: plainSchema(parameters ?? declaration['parametersJsonSchema']) })
    }
  }
  return found
}

/** Throws BadRequest for an unknown keyword: the service refuses the whole request. */
function checkSchema(schema: unknown, place: string): void {
  if (!isRecord(schema)) return
  for (const name of Object.keys(schema)) {
    if (!SCHEMA_KEYWORDS.has(name)) {
      throw new BadRequest(`Invalid JSON payload received. Unknown name "${name}" at '${place}': Cannot find field.`)
    }
  }
  checkSchema(schema['items'], `${place}.items`)
  for (const variant of Array.isArray(schema['anyOf']) ? schema['anyOf'] : [])
    checkSchema(variant, `${place}.any_of[0]`)
  const properties = isRecord(schema['properties']) ? schema['properties'] : {}
  for (const property of Object.values(properties)) checkSchema(property, `${place}.properties[0].value`)
}

/** The schema with the names of types in lower case, as in JSON Schema. */
function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema)
  if (!isRecord(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'type' && typeof value === 'string' ? value.toLowerCase() : plainSchema(value),
    ]),
  )
}

function toolChoiceOf(config: unknown): ToolChoice {
  const calling = isRecord(config) ? config['functionCallingConfig'] : null
  if (!isRecord(calling)) return { mode: 'auto' }
  const names: unknown = calling['allowedFunctionNames']
  if (calling['mode'] === 'NONE') return { mode: 'none' }
  if (calling['mode'] !== 'ANY') return { mode: 'auto' }
  const [name] = Array.isArray(names) && names.length === 1 ? (names as unknown[]) : []
  return typeof name === 'string' ? { mode: 'named', name } : { mode: 'any' }
}
