import type { Static } from 'typebox'
import type { Setting, SYSTEM } from '../../shared/api/operations/system.ts'
import type { MoneyConfig } from '../../shared/config/shape.ts'
import type { ShownSetting } from '../../shared/config/shown-settings.ts'
import type { Queryable } from '../store/database.ts'
import { countStoredEntries } from '../store/settings.ts'
import type { CaptureParts } from './capture-parts.ts'
import type { Handlers } from './call.ts'

interface SystemParts {
  readonly database: Queryable
  readonly version: string
  readonly startedAt: Date
  readonly configFile: string | null
  readonly settings: () => readonly ShownSetting[]
  readonly money: MoneyConfig
  readonly registrationOpen: boolean
  readonly retentionDays: number
  readonly captures: CaptureParts
}

/** Facts about this installation. Secrets are not part of them. */
export function systemHandlers(parts: SystemParts): Handlers<keyof typeof SYSTEM> {
  const { database, version, startedAt, configFile, settings, money, registrationOpen, retentionDays, captures } = parts
  return {
    adminGetSystem: async () => {
      const stored = await countStoredEntries(database)
      return {
        version,
        node_version: process.versions.node,
        started_at: startedAt.toISOString(),
        currency: money.currency,
        registration: registrationOpen ? 'open' : 'closed',
        tenant_topup: money.tenantTopup,
        allow_unpriced: money.allowUnpriced,
        log_retention_days: retentionDays,
        capture_allowed: captures.isAllowed,
        config_file: configFile,
        settings: settings().map((setting) => rendered(setting, stored.get(setting.name) ?? null)),
      }
    },
  }
}

function rendered(setting: ShownSetting, stored: number | null): Static<typeof Setting> {
  const { name, value, isSecret, isSet, entries, source, variable } = setting
  return {
    name,
    value: typeof value === 'object' && value !== null ? [...value] : value,
    is_secret: isSecret,
    is_set: isSet,
    entries,
    stored_entries: stored,
    source: entries === 0 && stored !== null && stored > 0 ? 'stored' : source,
    variable,
  }
}
