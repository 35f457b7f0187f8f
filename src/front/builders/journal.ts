import { join } from 'node:path'
import { Journal } from '../../journal/journal.ts'
import { processIdentity } from '../../shared/runtime/data-directory.ts'
import type { FrontBase } from './base.ts'

export interface FrontJournal {
  readonly journal: Journal
  readonly directory: string
  /** The name of the journal: no other process, before or after, has the same. */
  readonly writer: string
}

export function buildJournal({ config, name, logger, clock, metrics }: FrontBase, index: number): FrontJournal {
  const directory = join(config.dataDir, 'journal')
  const writer = `front${index}-${Date.now().toString(36)}-${process.pid}`
  const { segmentMaxBytes, segmentMaxAgeMs, durability, reserveBytes } = config.journal
  const syncs = metrics.histogram('journalSync').at()
  const journal = new Journal({
    directory,
    header: { writer, ...processIdentity(), createdAtMs: clock.now() },
    segmentMaxBytes,
    segmentMaxAgeMs,
    durability,
    reserve: { path: join(directory, `${name}.reserve`), bytes: reserveBytes },
    clock,
    onFault: (cause) => {
      logger.error({ err: cause }, 'the journal cannot be written; requests are refused until it can')
    },
    onRecovered: () => {
      logger.warn({}, 'the journal can be written again')
    },
    onSync: (durationUs) => {
      syncs.observe(durationUs)
    },
  })
  return { journal, directory, writer }
}
