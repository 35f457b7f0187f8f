import { isApiKey } from '../core/api-key.ts'
import { isAddressRange } from './address.ts'
import { attempt } from './config-error.ts'
import type { Fail, Path } from './config-error.ts'
import { problemOf } from './model-groups.ts'
import { redacting } from './redact.ts'
import type { EntryKeyEntry } from './schema.ts'
import type { DeclaredKey } from './shape.ts'

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** The entry keys of the file, after the checks that the schema cannot make. */
export function resolveEntryKeys(
  entries: readonly EntryKeyEntry[],
  fail: Fail,
  isSound: (path: Path) => boolean = () => true,
): DeclaredKey[] {
  const seen = new Set<string>()
  return entries.flatMap((entry, index) => {
    const path: Path = ['keys', index]
    return isSound(path) ? [resolveKey(entry, path, `keys[${index}]`)] : []
  })

  function resolveKey(entry: EntryKeyEntry, path: Path, at: string): DeclaredKey {
    const check = (work: () => void): void => attempt(fail, work, undefined)
    check(() => {
      if (!isApiKey(entry.key)) {
        fail([...path, 'key'], `${at}.key must be "sk-", 34 letters or digits and the 6 characters of their checksum`)
      }
      if (seen.has(entry.key)) fail([...path, 'key'], `${at}.key is given twice`)
    })
    seen.add(entry.key)
    for (const [place, range] of (entry.ip_allow ?? []).entries()) {
      if (isAddressRange(range)) continue
      const says = `${at}.ip_allow[${place}] must be an address or a CIDR range, e.g. 10.0.0.0/8`
      check(() => fail([...path, 'ip_allow', place], says))
    }
    return redacting(
      {
        name: entry.name,
        key: entry.key,
        enabled: entry.enabled,
        enterpriseId: entry.enterprise ?? null,
        expiresAtMs: attempt(fail, () => expiry(entry.expires_at, path, at, fail), null),
        limits: {
          requestsPerMinute: entry.rpm ?? null,
          tokensPerMinute: entry.tpm ?? null,
          concurrency: entry.max_concurrency ?? null,
        },
        budget: { moneyMicro: entry.monthly_budget ?? null, tokens: entry.monthly_tokens ?? null },
        modelBudgets: entry.model_budgets.map(({ models, monthly_budget: money, monthly_tokens: tokens }, place) => {
          const at = [...path, 'model_budgets', place]
          if (money === undefined && tokens === undefined) {
            check(() => fail(at, 'give monthly_budget, monthly_tokens or both'))
          }
          for (const [index, name] of models.entries()) {
            const problem = problemOf(name, models, index)
            if (problem !== null) check(() => fail([...at, 'models', index], problem))
          }
          return { models, moneyMicro: money ?? null, tokens: tokens ?? null }
        }),
        models: entry.models ?? null,
        addresses: entry.ip_allow ?? null,
        clients: entry.client_allow ?? null,
        tools: entry.mcp_tools ?? null,
      },
      ['key'],
    )
  }
}

function expiry(text: string | undefined, path: Path, at: string, fail: Fail): number | null {
  if (text === undefined) return null
  const time = ISO_TIME.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) {
    fail([...path, 'expires_at'], `${at}.expires_at must be a time with a zone, e.g. 2027-01-31T00:00:00Z`)
  }
  return time
}
