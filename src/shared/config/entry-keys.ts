import { isApiKey } from '../core/api-key.ts'
import { isAddressRange } from './address.ts'
import type { Path } from './config-error.ts'
import { redacting } from './redact.ts'
import type { EntryKeyEntry } from './schema.ts'
import type { DeclaredKey } from './shape.ts'
import type { Fail } from './upstreams.ts'

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** The entry keys of the file, after the checks that the schema cannot make. */
export function resolveEntryKeys(entries: readonly EntryKeyEntry[], fail: Fail): DeclaredKey[] {
  const seen = new Set<string>()
  return entries.map((entry, index) => {
    const path: Path = ['keys', index]
    const at = `keys[${index}]`
    if (!isApiKey(entry.key)) {
      fail([...path, 'key'], `${at}.key must be "sk-", 34 letters or digits and the 6 characters of their checksum`)
    }
    if (seen.has(entry.key)) fail([...path, 'key'], `${at}.key is given twice`)
    seen.add(entry.key)
    for (const [place, range] of (entry.ip_allow ?? []).entries()) {
      if (isAddressRange(range)) continue
      fail([...path, 'ip_allow', place], `${at}.ip_allow[${place}] must be an address or a CIDR range, e.g. 10.0.0.0/8`)
    }
    return redacting(
      {
        name: entry.name,
        key: entry.key,
        enabled: entry.enabled,
        enterpriseId: entry.enterprise ?? null,
        expiresAtMs: entry.expires_at === undefined ? null : expiry(entry.expires_at, path, at, fail),
        limits: {
          requestsPerMinute: entry.rpm ?? null,
          tokensPerMinute: entry.tpm ?? null,
          concurrency: entry.max_concurrency ?? null,
        },
        budget: { moneyMicro: entry.monthly_budget ?? null, tokens: entry.monthly_tokens ?? null },
        models: entry.models ?? null,
        addresses: entry.ip_allow ?? null,
        clients: entry.client_allow ?? null,
      },
      ['key'],
    )
  })
}

function expiry(text: string, path: Path, at: string, fail: Fail): number {
  const time = ISO_TIME.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) {
    fail([...path, 'expires_at'], `${at}.expires_at must be a time with a zone, e.g. 2027-01-31T00:00:00Z`)
  }
  return time
}
