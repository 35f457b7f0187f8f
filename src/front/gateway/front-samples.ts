import type { SchedulerStats } from '../../shared/core/scheduler-stats.ts'
import type { Sample } from '../../shared/telemetry/metrics.ts'

/** The state of a front at one moment. */
export interface FrontState {
  readonly overload: { readonly inFlight: number; readonly level: number; readonly limit: number }
  readonly openExchanges: number
  readonly connections: number
  readonly poolTasks: number
  readonly tunnelled: number
  readonly journal: {
    readonly heldBytes: number
    readonly writable: boolean
    readonly totals: { readonly records: number; readonly bytes: number }
  }
  /** Bytes of captured bodies that wait for the control process. */
  readonly captureBytes: number
  readonly scheduler: SchedulerStats
  readonly snapshotVersion: number
  readonly snapshotAgeSeconds: number
}

/** @param name the value of the label `process` */
export function frontSamples(name: string, state: FrontState): Sample[] {
  const { journal, overload, scheduler } = state
  const samples: Sample[] = [
    ['inFlight', [name], overload.inFlight],
    ['overloadLevel', [name], overload.level],
    ['overloadLimit', [name], overload.limit],
    ['exchanges', [name], state.openExchanges],
    ['connections', [name], state.connections],
    ['poolTasks', [name], state.poolTasks],
    ['tunnelled', [name], state.tunnelled],
    ['waiting', [name], scheduler.waiting],
    ['journalHeld', [name], journal.heldBytes],
    ['journalWritable', [name], journal.writable ? 1 : 0],
    ['journalRecords', [name], journal.totals.records],
    ['journalBytes', [name], journal.totals.bytes],
    ['captureBytes', [name], state.captureBytes],
    ['snapshotVersion', [name], state.snapshotVersion],
    ['snapshotAge', [name], state.snapshotAgeSeconds],
  ]
  for (const { providerId, keyId, used, held, state: keyState, coolingSeconds } of scheduler.keys) {
    samples.push(
      ['slotsUsed', [name, providerId, keyId], used],
      ['slotsHeld', [name, providerId, keyId], held],
      ['keyState', [name, providerId, keyId, keyState], 1],
      ['cooling', [name, providerId, keyId], coolingSeconds],
    )
  }
  return samples
}
