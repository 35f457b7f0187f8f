import { UpstreamChecks } from '../../front/gateway/upstream-check.ts'
import type { KeyHealthBoard } from '../fronts/key-health-board.ts'
import { HealthChecks, MAX_CONCURRENT_CHECKS } from '../fronts/health-checks.ts'
import { HealthCheckClaim } from '../leases/health-check-claim.ts'
import type { ControlBase } from './base.ts'
import type { LeaseAuthority } from './lease-authority.ts'
import type { ControlSnapshots } from './snapshots.ts'

export interface HealthCheckNeeds {
  readonly node: string
  readonly snapshots: ControlSnapshots
  readonly leases: LeaseAuthority
  readonly keyHealthEvents: KeyHealthBoard
}

export interface ControlHealthChecks {
  start(): void
  stop(): Promise<void>
}

export function buildHealthChecks(base: ControlBase, needs: HealthCheckNeeds): ControlHealthChecks {
  const { config, clock, link, logger, onFault } = base
  const { node, snapshots, leases, keyHealthEvents } = needs
  const calls = new UpstreamChecks({
    clock,
    reach: snapshots.reach,
    maxConcurrent: MAX_CONCURRENT_CHECKS,
    onFault,
  })
  const { shared } = leases
  const claim =
    shared === null
      ? null
      : new HealthCheckClaim({ runner: shared.connection, prefix: config.redis.keyPrefix, node, clock })
  const checks = new HealthChecks({
    clock,
    random: Math.random,
    check: (provider, key, settings) => calls.check(provider, key, settings),
    claim: (upstreams) => (claim === null ? Promise.resolve(new Set(upstreams)) : claim.take(upstreams)),
    events: () => keyHealthEvents.current(),
    tell: (event) => {
      keyHealthEvents.add(event)
      link.broadcast({ type: 'key-news', news: event })
      shared?.news.tell(event)
    },
    snapshot: () => snapshots.publisher.current,
    logger: logger.child('health-checks'),
    onFault,
  })
  return {
    start: () => {
      checks.start()
    },
    stop: async () => {
      checks.stop()
      await calls.close()
    },
  }
}
