import type { SYSTEM } from '../../shared/api/operations/system.ts'
import type { MoneyConfig } from '../../shared/config/shape.ts'
import type { CaptureParts } from './capture-parts.ts'
import type { Handlers } from './call.ts'

interface SystemParts {
  readonly version: string
  readonly startedAt: Date
  readonly money: MoneyConfig
  readonly registrationOpen: boolean
  readonly retentionDays: number
  readonly captures: CaptureParts
}

/** Facts about this installation. Secrets are not part of them. */
export function systemHandlers(parts: SystemParts): Handlers<keyof typeof SYSTEM> {
  const { version, startedAt, money, registrationOpen, retentionDays, captures } = parts
  return {
    adminGetSystem: () =>
      Promise.resolve({
        version,
        node_version: process.versions.node,
        started_at: startedAt.toISOString(),
        currency: money.currency,
        registration: registrationOpen ? 'open' : 'closed',
        tenant_topup: money.tenantTopup,
        allow_unpriced: money.allowUnpriced,
        log_retention_days: retentionDays,
        capture_allowed: captures.isAllowed,
      }),
  }
}
