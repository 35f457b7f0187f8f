/** Names of fields that hold secrets. Names in the plural are counts: `monthly_tokens`. */
const SECRET_NAME =
  /(^|_)(password|passphrase|secret|token|credentials?|authorization|cookie|key|api_?key|private_key|headers)$/i
const HIDDEN = '[hidden]'
const MAX_CHARACTERS = 8_192
const MAX_DEPTH = 16

/** Returns the input as JSON for the audit log, without secrets and with at most `MAX_CHARACTERS`. */
export function withoutSecrets(sent: unknown): string {
  const text = JSON.stringify(hidden(sent, 0))
  return text.length <= MAX_CHARACTERS ? text : JSON.stringify({ left_out: `${text.length} characters` })
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
