import type { Static } from 'typebox'
import type { DeadLetter, JOURNAL } from '../../shared/api/operations/journal.ts'
import type { JournalHealth } from '../../shared/core/health.ts'
import type { Queryable } from '../store/database.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import { countDeadLetters, listDeadLetters } from '../store/journal.ts'
import type { Handlers } from './call.ts'
import { longPageOf } from './pages.ts'

/** Shows operators the settlement lag, and the dead letters: records that could not become rows. */
export function journalHandlers(database: Queryable, health: () => JournalHealth): Handlers<keyof typeof JOURNAL> {
  return {
    adminJournal: async () => {
      const { isBehind, lagMs, unsettledBytes, diskFreeBytes } = health()
      return {
        status: isBehind ? 'behind' : 'ok',
        lag_seconds: lagMs / 1000,
        unsettled_bytes: unsettledBytes,
        disk_free_bytes: diskFreeBytes,
        dead_letters: await countDeadLetters(database),
      }
    },

    adminDeadLetters: ({ query }) =>
      longPageOf(
        query,
        {
          read: (stretch) => listDeadLetters(database, stretch),
          count: async (most) => Math.min(most, await countDeadLetters(database)),
          cursorOf,
          placeOf,
        },
        rendered,
      ),
  }
}

function rendered({ atMs, node, segment, position, reason, bytes }: DeadLetterRow): Static<typeof DeadLetter> {
  return { time: new Date(atMs).toISOString(), node, segment, position, reason, bytes: bytes.toString('base64') }
}

function cursorOf({ node, segment, position }: DeadLetterRow): string {
  return Buffer.from(JSON.stringify([node, segment, position])).toString('base64url')
}

function placeOf(cursor: string): readonly [node: string, segment: string, position: number] {
  const [node, segment, position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  if (typeof node === 'string' && typeof segment === 'string' && Number.isSafeInteger(position)) {
    return [node, segment, position as number]
  }
  throw new RangeError('the cursor is not valid')
}
