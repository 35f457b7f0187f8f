/** A form of credentials. It matches in linear time: no quantifier contains another, and each has a bound. */
export interface CredentialForm {
  readonly label: string
  /** With the flag `d` where only its first group is the secret. */
  readonly pattern: RegExp
}

const NO_WORD_BEFORE = '(?<![A-Za-z0-9_-])'
/** Shorter texts contain no credential. */
export const SHORTEST_CREDENTIAL = 8

export const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  form(
    'private-key',
    /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[^]{0,16384}?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g,
  ),
  form('jwt', `${NO_WORD_BEFORE}eyJ[A-Za-z0-9_-]{8,4096}[.]eyJ[A-Za-z0-9_-]{8,8192}[.][A-Za-z0-9_-]{0,4096}`),
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe, and the keys of this gateway.
  form('api-key', `${NO_WORD_BEFORE}[spr]k[-_](?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{16,512}`),
  form('api-key', `${NO_WORD_BEFORE}(?:AIza[A-Za-z0-9_-]{35}|ya29[.][A-Za-z0-9_.-]{20,2048})`),
  form('api-key', `${NO_WORD_BEFORE}(?:gsk_|xai-|hf_|r8_|nvapi-|pplx-|tgp_v1_|fw_|csk-)[A-Za-z0-9_-]{20,512}`),
  form(
    'api-key',
    `${NO_WORD_BEFORE}(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,255})`,
  ),
  form(
    'api-key',
    `${NO_WORD_BEFORE}(?:xox[abeprs]-[A-Za-z0-9-]{10,250}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,512})`,
  ),
  form('aws-key', `${NO_WORD_BEFORE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])`),
  secretOf('authorization', /\b(?:bearer|token)[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,8192})/dgi),
  secretOf(
    'authorization',
    /\bauthorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[a-z]{1,16}[ \t]{1,4})?([^\s"',;]{8,8192})/dgi,
  ),
  secretOf('password', /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,256}:([^\s/@"']{1,256})@/dgi),
  secretOf(
    'secret',
    /(?:api[_-]?key|access[_-]?key|secret[_-]?key|(?:access|refresh|auth|session)[_-]?token|client[_-]?secret|passw(?:or)?d|passphrase)\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?([^\s"'\\,;<>(){}[\]]{6,8192})/dgi,
  ),
]

const SECRET_NAME =
  /(?:^|[_-])(?:password|passwd|passphrase|secret|client_secret|credentials?|authorization|cookie|(?:access|refresh|id|auth|session)_token|(?:api|access|secret|private)_?key)$/

/** Whether a field of this name holds a secret. `token` and `key` alone are words of the protocols. */
export function isSecretName(name: string): boolean {
  if (name.length > 64) return false
  return SECRET_NAME.test(
    name
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .replaceAll('-', '_')
      .toLowerCase(),
  )
}

function form(label: string, pattern: RegExp | string): CredentialForm {
  return { label, pattern: typeof pattern === 'string' ? new RegExp(pattern, 'g') : pattern }
}

function secretOf(label: string, pattern: RegExp): CredentialForm {
  return { label, pattern }
}
