/** Names of fields that hold secrets. Names in the plural are counts: `monthly_tokens`. Addresses of webhooks often hold a token. */
const SECRET_NAME =
  /(^|_)(password|passphrase|secret|token|code|credentials?|authorization|cookie|key|api_?key|private_key|headers|webhook)$/i
const HIDDEN = '[hidden]'
const MAX_CHARACTERS = 8_192
const MAX_DEPTH = 16

/** Returns the input as JSON for the audit log, without secrets and with at most `MAX_CHARACTERS`. */
export function withoutSecrets(sent: unknown): string {
  const text = JSON.stringify(hidden(sent, 0))
  return text.length <= MAX_CHARACTERS ? text : JSON.stringify({ left_out: `${text.length} characters` })
}

/** Returns the value with its secrets hidden. It has the form that JSON gives it. */
export function maskSecrets(value: unknown): unknown {
  return hidden(value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown), 0)
}

function hidden(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return '[deeper]'
  if (Array.isArray(value)) return value.map((item) => hidden(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAME.test(name) && member !== null ? HIDDEN : hidden(member, depth + 1),
    ]),
  )
}
