import { Authenticator } from '../auth/authenticator.ts'
import { Newcomers } from '../auth/newcomers.ts'
import { AddressFailures } from '../limits/address-failures.ts'
import { Admissions } from '../limits/admissions.ts'
import { degradedModes } from '../limits/degraded-modes.ts'
import { LeaseBook } from '../limits/lease-book.ts'
import { LeasedSlots } from '../limits/leased-slots.ts'
import { Scheduler } from '../scheduling/scheduler.ts'
import { describeKeyHealthEvent } from '../scheduling/words.ts'
import type { FrontBase } from './base.ts'

/** Redis gives leases away 30 s after it heard of them last. A control process that dies was heard some seconds before. */
const LEASE_KEEP_MS = 20_000

/** Who may call, and how much. */
export interface FrontLimits {
  readonly leases: LeaseBook
  readonly authenticator: Authenticator
  readonly newcomers: Newcomers
  readonly admissions: Admissions
  readonly addressFailures: AddressFailures
}

export function buildLimits({ config, secrets, clock, link }: FrontBase, writer: string): FrontLimits {
  const { limits, redis, server } = config
  const leases = new LeaseBook({
    clock,
    processes: server.fronts,
    writer,
    leaseKeepMs: redis.address === null ? null : LEASE_KEEP_MS,
    degradedModeOf: degradedModes(redis.degraded),
    send: (message) => link.sendLease(message),
    soon: setImmediate,
  })
  const authenticator = new Authenticator(secrets.keyHash, {
    key: limits.keyDefaults,
    user: limits.userDefaults,
    enterprise: limits.enterpriseDefaults,
  })
  return {
    leases,
    authenticator,
    newcomers: new Newcomers({ authenticator, clock, isSnapshotCurrent: () => link.inquiries.isCurrent() }),
    admissions: new Admissions(leases),
    addressFailures: new AddressFailures(limits.addressFailuresPerMinute, server.fronts),
  }
}

export function buildScheduler({ config, logger, clock, deadlines, link }: FrontBase, leases: LeaseBook): Scheduler {
  const log = logger.child('scheduler')
  return new Scheduler({
    supply: new LeasedSlots(leases),
    random: Math.random,
    clock,
    deadlines,
    maxWaiting: config.upstream.queueMax,
    announce: (event) => {
      log[event.kind === 'disabled' ? 'error' : 'warn']({ ...event }, describeKeyHealthEvent(event, clock.now()))
      link.announce(event)
    },
  })
}
