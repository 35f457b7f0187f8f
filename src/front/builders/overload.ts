import { MAX_HELD_BYTES } from '../../journal/journal.ts'
import { LadderLog } from '../overload/ladder-log.ts'
import { Overload } from '../overload/overload.ts'
import { freeDiskBytes, Resources } from '../overload/resources.ts'
import type { FrontBase } from './base.ts'
import type { FrontJournal } from './journal.ts'

export interface FrontOverload {
  readonly overload: Overload
  readonly resources: Resources
}

export function buildOverload(base: FrontBase, { journal, directory }: FrontJournal): FrontOverload {
  const { config, logger, clock, onTimerFault } = base
  const resources = new Resources({
    maxMemoryBytes: config.overload.maxMemoryBytes,
    processes: config.server.fronts,
    freeDiskBytes: () => freeDiskBytes(directory),
    minFreeDiskBytes: config.overload.minFreeDiskBytes,
    heldBytes: () => journal.heldBytes,
    maxHeldBytes: MAX_HELD_BYTES,
    onFault: onTimerFault,
  })
  const ladderLog = new LadderLog((severity, message, level) => {
    logger[severity]({ overloadLevel: level }, message)
  })
  const overload = new Overload({
    loopDelayTargetMs: config.overload.loopDelayMs,
    minConcurrency: config.overload.minConcurrency,
    maxInFlight: config.limits.maxRequestsInFlight,
    resources: () => resources.read(),
    onInterval: (pressure, limit) => {
      ladderLog.note(pressure, limit, clock.monotonicUs() / 1000)
    },
  })
  return { overload, resources }
}
