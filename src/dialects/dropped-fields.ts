import type { Conversation, Role, WireDialect } from '../shared/core/conversation.ts'
import { GatewayError } from '../shared/core/errors.ts'
import type { JsonObject } from '../shared/core/json-object.ts'

/** `refuse`: without the field, the answer is not what the client asked for. `drop`: the answer is of the same kind. */
type Loss = 'drop' | 'refuse'

/**
 * What happens to a dialect's top-level fields when the upstream speaks another dialect. Fields not named here are unknown
 * and dropped. All dropped fields are reported.
 */
const FIELDS: Readonly<Partial<Record<WireDialect, Readonly<Record<string, Loss>>>>> = {
  'openai-chat': {
    audio: 'refuse',
    // A value of only `text` passes before this table is read.
    modalities: 'refuse',
    web_search_options: 'drop',
    logit_bias: 'drop',
    prediction: 'drop',
    store: 'drop',
    verbosity: 'drop',
    safety_identifier: 'drop',
    prompt_cache_key: 'drop',
    prompt_cache_options: 'drop',
    moderation: 'drop',
  },
  'openai-responses': {
    context_management: 'drop',
    include: 'drop',
    max_tool_calls: 'drop',
    moderation: 'drop',
    prompt_cache_key: 'drop',
    prompt_cache_options: 'drop',
    prompt_cache_retention: 'drop',
    safety_identifier: 'drop',
    top_logprobs: 'drop',
    truncation: 'drop',
    verbosity: 'drop',
  },
  'anthropic-messages': {
    context_management: 'drop',
    container: 'drop',
    mcp_servers: 'drop',
    inference_geo: 'drop',
    fallbacks: 'drop',
    fallback_credit_token: 'drop',
    speed: 'drop',
    diagnostics: 'drop',
  },
}

/** What happens to parts that an upstream's dialect cannot carry. The names are those of the reports. */
const PLACES = {
  n: 'refuse',
  'content.audio': 'refuse',
  'content.file_id': 'refuse',
  'content.document_url': 'refuse',
  'content.native': 'refuse',
  prefill: 'refuse',
  'tool_choice.native': 'refuse',
  // History of a provider's own tools, and data that only that provider reads.
  'content.server_tool': 'drop',
  'content.thinking': 'drop',
  'content.citations': 'drop',
  'content.cache_control': 'drop',
  'content.image_url.detail': 'drop',
  'content.extra': 'drop',
  'messages.name': 'drop',
  'messages.extra': 'drop',
  'tools.native': 'drop',
  'tools.extra': 'drop',
  'tools.strict': 'drop',
} as const satisfies Record<string, Loss>

/** How the client can avoid the refusal. */
const FIXES: Readonly<Partial<Record<keyof typeof PLACES, string>>> = {
  n: 'It gives one answer for each request: send the request n times, without n or with n = 1.',
  prefill: 'It does not continue a message of the assistant: end with a message of the user.',
}

/** Collects the dropped fields of one request to one upstream. */
export class DroppedFields {
  /** The client's dialect. Reports name fields as it does. */
  readonly from: WireDialect
  readonly #fields = new Set<string>()

  constructor(from: WireDialect) {
    this.from = from
  }

  get dropped(): readonly string[] {
    return [...this.#fields]
  }

  /** Reports a dropped field that never leads to a refusal. */
  drop(name: string): void {
    this.#fields.add(name)
  }

  /** Reports `name` when `value` is neither null nor undefined. */
  dropValue(name: string, value: unknown): void {
    if (value !== null && value !== undefined) this.#fields.add(name)
  }

  /**
   * Reports a part that cannot be carried, or throws GatewayError UNSUPPORTED_FIELD when the table says `refuse`.
   * @param name the field as the client knows it; `place` by default
   */
  lose(place: keyof typeof PLACES, name: string = place): void {
    if (PLACES[place] === 'refuse') throw unsupportedField(name, FIXES[place])
    this.#fields.add(name)
  }

  /** Drops a block that only its own dialect can carry from what the assistant said. Refuses it in what the client says. */
  loseNative(kind: string, role: Role): void {
    const place = role === 'assistant' ? 'content.server_tool' : 'content.native'
    this.lose(place, `messages.content.${kind === '' ? 'type' : kind}`)
  }

  /** Drops or refuses top-level fields that only the client's dialect knows. @returns the fields that `pass` names */
  loseExtra({ extra }: Conversation, pass: readonly string[]): JsonObject | null {
    if (extra === null) return null
    let passed: Record<string, unknown> | null = null
    for (const name in extra) {
      if (pass.includes(name)) {
        passed ??= {}
        passed[name] = extra[name]
      } else if (FIELDS[this.from]?.[name] === 'refuse' && !isHarmless(name, extra[name])) {
        throw unsupportedField(name)
      } else {
        this.#fields.add(name)
      }
    }
    return passed
  }
}

function isHarmless(name: string, value: unknown): boolean {
  return name === 'modalities' && Array.isArray(value) && value.every((entry) => entry === 'text')
}

/**
 * @param name dotted, as in reports
 * @param fix one sentence: what the client can do
 */
export function unsupportedField(name: string, fix?: string): GatewayError {
  const refusal = `The provider of this model cannot be given ${name}.`
  return new GatewayError('UNSUPPORTED_FIELD', {
    message: fix === undefined ? refusal : `${refusal} ${fix}`,
    param: `/${name.replaceAll('.', '/')}`,
  })
}
