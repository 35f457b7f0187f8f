import type { Check, StoreHealth } from '../../shared/core/health.ts'
import type { Sample } from '../../shared/telemetry/metrics.ts'

/** The state that only the control process knows. */
export interface ControlState {
  readonly fronts: number
  readonly lag: { readonly bytes: number; readonly ageMs: number }
  readonly snapshotVersion: number
  /** The result of the last check; null before the first one. */
  readonly stores: Pick<StoreHealth, 'database' | 'cache' | 'journal'> | null
}

export function controlSamples({ fronts, lag, snapshotVersion, stores }: ControlState): Sample[] {
  const samples: Sample[] = [
    ['fronts', [], fronts],
    ['unsettledBytes', [], lag.bytes],
    ['unsettledAge', [], lag.ageMs / 1000],
    ['snapshotVersion', ['control'], snapshotVersion],
  ]
  const add = (store: string, { status }: Check): void => {
    if (status !== 'unused') samples.push(['storeUp', [store], status === 'ok' ? 1 : 0])
  }
  if (stores !== null) {
    add('database', stores.database)
    add('cache', stores.cache)
    const { diskFreeBytes, isBehind } = stores.journal
    if (diskFreeBytes !== null) samples.push(['journalDiskFree', [], diskFreeBytes])
    samples.push(['journalBehind', [], isBehind ? 1 : 0])
  }
  return samples
}
