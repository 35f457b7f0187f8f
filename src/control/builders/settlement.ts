import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from '../../shared/runtime/data-directory.ts'
import type { Metrics } from '../../shared/telemetry/metrics.ts'
import type { Authority } from '../leases/authority.ts'
import { JournalWatch } from '../lifecycle/journal-watch.ts'
import { retryDeadLetter } from '../settlement/retry-dead-letter.ts'
import type { RetriedLetter, RetryParts } from '../settlement/retry-dead-letter.ts'
import type { PriceOf } from '../settlement/rows.ts'
import { createSettler } from '../settlement/settler.ts'
import type { Database } from '../store/database.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import type { ControlBase } from './base.ts'
import type { ControlSnapshots } from './snapshots.ts'
import type { ControlStore } from './store.ts'

export interface SettlementNeeds {
  readonly store: ControlStore
  readonly snapshots: ControlSnapshots
  readonly authority: Authority
  readonly metrics: Metrics
}

export interface ControlSettlement {
  readonly settler: ReturnType<typeof createSettler>
  readonly journalWatch: JournalWatch
  /** Makes the row of a dead letter. Rejects with `NotSettled`. */
  readonly retry: (database: Database, letter: DeadLetterRow) => Promise<RetriedLetter>
}

export async function buildSettlement(base: ControlBase, needs: SettlementNeeds): Promise<ControlSettlement> {
  const { config, logger, clock } = base
  const { store, snapshots, authority, metrics } = needs
  const journalDirectory = join(config.dataDir, 'journal')
  await mkdir(journalDirectory, { recursive: true, mode: 0o700 })
  const priceOf: PriceOf = (providerId, servedModel, usage) => snapshots.prices.costOf(providerId, servedModel, usage)
  const tenants = () => snapshots.publisher.tenants
  const settler = createSettler({
    database: store.database,
    journalDirectory,
    node: store.node,
    clock,
    isWriterAlive: isAlive,
    logger: logger.child('settler'),
    priceOf,
    tenants,
    onWriterEnded: (writer, budgets) => {
      authority.ended(writer, budgets)
    },
    onCommitted: (rows, deadLetters) => {
      metrics.counter('settledRows').at().add(rows)
      metrics.counter('deadLetters').at().add(deadLetters)
    },
  })
  const journalWatch = new JournalWatch({
    directory: journalDirectory,
    measure: () => settler.measure(),
    alertLagMs: config.journal.alertLagMs,
    onBehind: (state) => {
      logger.warn({ ...state }, 'the database is far behind the journal')
    },
    onCaughtUp: (state) => {
      logger.warn({ ...state }, 'the database has caught up with the journal')
    },
  })
  const retryParts: RetryParts = {
    node: store.node,
    clock,
    retentionDays: config.log.retentionDays,
    priceOf,
    tenants,
    hasSegments: (writer) => settler.hasSegments(writer),
  }
  return { settler, journalWatch, retry: (database, letter) => retryDeadLetter(database, letter, retryParts) }
}
