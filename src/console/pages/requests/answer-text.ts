/** A piece of an answer: what the model said, thought, or wanted to call. */
export interface AnswerPart {
  readonly kind: 'text' | 'thinking' | 'tool' | 'error'
  /** Of a tool. */
  readonly name: string | null
  readonly text: string
}

type Json = Readonly<Record<string, unknown>>

/** Collects the parts of a stream by their place in the answer. */
class Parts {
  readonly #parts = new Map<string, { kind: AnswerPart['kind']; name: string | null; text: string }>()

  add(place: string, kind: AnswerPart['kind'], text: string, name: string | null = null): void {
    const part = this.#parts.get(place)
    if (part === undefined) this.#parts.set(place, { kind, name, text })
    else {
      part.text += text
      part.name ??= name
    }
  }

  list(): AnswerPart[] {
    return [...this.#parts.values()].filter(({ kind, text }) => kind === 'tool' || text !== '')
  }
}

/**
 * Puts the events of a streamed answer together: of chat completions, messages and responses. Null: the text is no such stream. A stream that
 * was cut gives what it had until then.
 */
export function assembled(text: string): readonly AnswerPart[] | null {
  const events = dataOf(text)
  if (events === null) return null
  const parts = new Parts()
  for (const event of events) take(parts, event)
  return parts.list()
}

/** The JSON of the events; null for a text that has none. */
function dataOf(text: string): readonly Json[] | null {
  const found: Json[] = []
  let isStream = false
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (!line.startsWith('data:')) continue
    isStream = true
    const json = objectOf(line.slice('data:'.length).trim())
    if (json !== null) found.push(json)
  }
  return isStream ? found : null
}

function objectOf(text: string): Json | null {
  try {
    return asObject(JSON.parse(text))
  } catch {
    // [DONE], or the last line of a stream that was cut.
    return null
  }
}

function take(parts: Parts, event: Json): void {
  if (Array.isArray(event['choices'])) takeChat(parts, event['choices'])
  else if (event['type'] === 'content_block_start') startBlock(parts, event)
  else if (event['type'] === 'content_block_delta') takeBlock(parts, event)
  else if (typeof event['type'] === 'string' && event['type'].startsWith('response.')) takeResponse(parts, event)
  const error = asObject(event['error'])
  if (error !== null) parts.add('error', 'error', textOf(error['message']))
}

function takeChat(parts: Parts, choices: readonly unknown[]): void {
  for (const one of choices) {
    const choice = asObject(one)
    const delta = asObject(choice?.['delta'])
    if (delta === null) continue
    const at = textOf(choice?.['index'])
    parts.add(`${at} thinking`, 'thinking', textOf(delta['reasoning_content'] ?? delta['reasoning']))
    parts.add(`${at} text`, 'text', textOf(delta['content']))
    const calls = delta['tool_calls']
    if (!Array.isArray(calls)) continue
    for (const made of calls) {
      const call = asObject(made)
      const fn = asObject(call?.['function'])
      const name = textOf(fn?.['name'])
      parts.add(`${at} tool ${textOf(call?.['index'])}`, 'tool', textOf(fn?.['arguments']), name === '' ? null : name)
    }
  }
}

function startBlock(parts: Parts, { index, content_block: started }: Json): void {
  const block = asObject(started)
  if (block === null) return
  const at = textOf(index)
  if (block['type'] === 'tool_use' || block['type'] === 'server_tool_use')
    parts.add(at, 'tool', '', textOf(block['name']))
  else if (block['type'] === 'thinking') parts.add(at, 'thinking', textOf(block['thinking']))
  else parts.add(at, 'text', textOf(block['text']))
}

function takeBlock(parts: Parts, { index, delta: given }: Json): void {
  const delta = asObject(given)
  if (delta === null) return
  const at = textOf(index)
  if (delta['type'] === 'text_delta') parts.add(at, 'text', textOf(delta['text']))
  if (delta['type'] === 'thinking_delta') parts.add(at, 'thinking', textOf(delta['thinking']))
  if (delta['type'] === 'input_json_delta') parts.add(at, 'tool', textOf(delta['partial_json']))
}

function takeResponse(parts: Parts, event: Json): void {
  const at = `${textOf(event['output_index'])} ${textOf(event['content_index'])}`
  const delta = textOf(event['delta'])
  switch (event['type']) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      parts.add(at, 'text', delta)
      break
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      parts.add(`${at} thinking`, 'thinking', delta)
      break
    case 'response.output_item.added': {
      const item = asObject(event['item'])
      if (item?.['type'] === 'function_call') parts.add(`${at}`, 'tool', '', textOf(item['name']))
      break
    }
    case 'response.function_call_arguments.delta':
      parts.add(at, 'tool', delta)
      break
  }
}

function asObject(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

/** JSON with its indentation; any other text as it is. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const PREVIEW_BYTES = 65_536

/** As much of a text as a page shows at once: 64 KiB, never half a character. */
export function preview(text: string): { readonly shown: string; readonly isCut: boolean } {
  if (text.length * 3 <= PREVIEW_BYTES) return { shown: text, isCut: false }
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= PREVIEW_BYTES) return { shown: text, isCut: false }
  // A cut character becomes U+FFFD, which is left out.
  const shown = new TextDecoder().decode(bytes.subarray(0, PREVIEW_BYTES)).replace(/\uFFFD+$/, '')
  return { shown, isCut: true }
}
