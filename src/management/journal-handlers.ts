import type { Static } from 'typebox'
import type { DeadLetter, JOURNAL } from '../api/operations/journal.ts'
import { GatewayError } from '../core/errors.ts'
import type { JournalHealth } from '../core/health.ts'
import type { Queryable } from '../store/database.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import { countDeadLetters, listDeadLetters } from '../store/journal.ts'
import type { Handlers } from './call.ts'

const DEFAULT_LIMIT = 20

/** What an operator can see of records on their way to the database, and of those that could not be rows. */
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

    adminDeadLetters: async ({ query }) => {
      const { limit = DEFAULT_LIMIT, cursor } = query
      const letters = await listDeadLetters(database, limit + 1, cursor === undefined ? null : placeOf(cursor))
      const shown = letters.slice(0, limit)
      const last = shown.at(-1)
      const hasMore = letters.length > limit && last !== undefined
      return { data: shown.map(rendered), limit, has_more: hasMore, next_cursor: hasMore ? cursorOf(last) : null }
    },
  }
}

function rendered({ atMs, node, segment, position, reason, bytes }: DeadLetterRow): Static<typeof DeadLetter> {
  return { time: new Date(atMs).toISOString(), node, segment, position, reason, bytes: bytes.toString('base64') }
}

function cursorOf({ node, segment, position }: DeadLetterRow): string {
  return Buffer.from(JSON.stringify([node, segment, position])).toString('base64url')
}

function placeOf(cursor: string): readonly [node: string, segment: string, position: number] {
  try {
    const [node, segment, position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof node === 'string' && typeof segment === 'string' && Number.isSafeInteger(position)) {
      return [node, segment, position as number]
    }
  } catch {
    // Not one of ours.
  }
  throw new GatewayError('INVALID_FIELD', { message: 'The cursor is not one of ours.', param: '/cursor' })
}
