import type { Conversation, Role, WireDialect } from '../shared/core/conversation.ts'
import { GatewayError } from '../shared/core/errors.ts'
import type { JsonObject } from '../shared/core/json-object.ts'

/** `refuse`: the answer would not be what was asked for. `drop`: the answer is the same in kind. */
type Loss = 'drop' | 'refuse'

/**
 * What a dialect's top-level fields come to when the upstream speaks another one. Those not named here are unknown to us
 * and dropped. All that is dropped is reported.
 */
const FIELDS: Readonly<Partial<Record<WireDialect, Readonly<Record<string, Loss>>>>> = {
  'openai-chat': {
    audio: 'refuse',
    // Text alone is let through before the table is asked.
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

/** What an upstream's dialect has no place for, by the names that reports use. */
const PLACES = {
  n: 'refuse',
  'content.audio': 'refuse',
  'content.file_id': 'refuse',
  'content.document_url': 'refuse',
  'content.native': 'refuse',
  prefill: 'refuse',
  'tool_choice.native': 'refuse',
  // History of the server's tools and what only its own provider reads.
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

/** What a client can do about a refusal. */
const FIXES: Readonly<Partial<Record<keyof typeof PLACES, string>>> = {
  n: 'It gives one answer to a request: send the request n times, with n left out or 1.',
  prefill: 'It does not go on with an answer that has been begun: end with a message of the user.',
}

/** The droppedFields of one request on its way to one upstream. */
export class DroppedFields {
  /** The client's dialect, in whose words fields are named. */
  readonly from: WireDialect
  readonly #fields = new Set<string>()

  constructor(from: WireDialect) {
    this.from = from
  }

  get dropped(): readonly string[] {
    return [...this.#fields]
  }

  /** A field of no consequence that the upstream does not know. */
  drop(name: string): void {
    this.#fields.add(name)
  }

  /** `value` is not null and cannot be said: reports it. */
  dropValue(name: string, value: unknown): void {
    if (value !== null && value !== undefined) this.#fields.add(name)
  }

  /**
   * Something in `place` cannot be said: drops it, or throws GatewayError UNSUPPORTED_FIELD.
   * @param name of the field as the client knows it; the place by default
   */
  lose(place: keyof typeof PLACES, name: string = place): void {
    if (PLACES[place] === 'refuse') throw unsupportedField(name, FIXES[place])
    this.#fields.add(name)
  }

  /** A block that only its own dialect can carry: left out of what the assistant has said, refused in all that the client says. */
  loseNative(kind: string, role: Role): void {
    const place = role === 'assistant' ? 'content.server_tool' : 'content.native'
    this.lose(place, `messages.content.${kind === '' ? 'type' : kind}`)
  }

  /** Top-level fields that only the client's dialect knows. @returns those that `pass` names */
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
 * @param name dotted, as reports have it
 * @param fix what the client can do about it, in a sentence
 */
export function unsupportedField(name: string, fix?: string): GatewayError {
  const refusal = `The provider of this model cannot be given ${name}.`
  return new GatewayError('UNSUPPORTED_FIELD', {
    message: fix === undefined ? refusal : `${refusal} ${fix}`,
    param: `/${name.replaceAll('.', '/')}`,
  })
}
