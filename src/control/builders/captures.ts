import { Seal } from '../../shared/runtime/seal.ts'
import type { Metrics } from '../../shared/telemetry/metrics.ts'
import { CaptureKeeper } from '../capture/capture-keeper.ts'
import { CapturedBodies } from '../capture/captured-bodies.ts'
import { CaptureReceiver } from '../capture/captures.ts'
import { DATA_KEY_SEAL, DataKeys } from '../capture/data-keys.ts'
import type { CaptureParts } from '../management/capture-parts.ts'
import { partOf } from '../store/database-part.ts'
import type { ControlBase } from './base.ts'
import type { ControlStore } from './store.ts'

/** One statement at a time: captures may wait. */
const CONNECTIONS = 1

export interface ControlCaptures {
  readonly receiver: CaptureReceiver
  readonly keeper: CaptureKeeper
  /** The parts of captures that the management API uses. */
  readonly parts: CaptureParts
}

export function buildCaptures(base: ControlBase, store: ControlStore, metrics: Metrics): ControlCaptures {
  const { config, logger, clock } = base
  const { allowed, maxBodyBytes, platformAdmins } = config.capture
  const database = partOf(store.database, CONNECTIONS)
  const dataKeys = new DataKeys(new Seal(store.secrets.keyHash, DATA_KEY_SEAL))
  const log = logger.child('capture')
  const onFault = (cause: unknown): void => {
    log.warn({ err: cause }, 'captured bodies could not be stored or removed')
  }
  const logRetentionDays = config.log.retentionDays
  const now = (): number => clock.now()
  const receiver = new CaptureReceiver({
    database,
    dataKeys,
    loadPool: async () => new (await import('../capture/body-pool.ts')).BodyPool(),
    isAllowed: allowed,
    maxBodyBytes,
    logRetentionDays,
    now,
    onStored: (captures) => {
      metrics.counter('capturesStored').at().add(captures)
    },
    onDropped: (reason, captures) => {
      metrics.counter('capturesDropped').at(reason).add(captures)
    },
    onFault,
  })
  const keeper = new CaptureKeeper({ database, logRetentionDays, now, onFault })
  const parts = {
    isAllowed: allowed,
    platformAdminsMayRead: platformAdmins,
    bodies: new CapturedBodies(dataKeys),
    onErased: () => {
      keeper.work()
    },
  }
  return { receiver, keeper, parts }
}
