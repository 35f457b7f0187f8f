import { GatewayError } from '../core/errors.ts'
import type { JournalHealth } from '../core/health.ts'
import type { Queryable } from '../store/database.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import { countDeadLetters, listDeadLetters } from '../store/journal.ts'
import type { ManagementRoute } from './router.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** What an operator can see of records on their way to the database, and of those that could not be rows. */
export function journalRoutes(database: Queryable, health: () => JournalHealth): readonly ManagementRoute[] {
  return [
    {
      method: 'GET',
      path: '/v1/admin/journal',
      allow: 'admin',
      handle: async () => {
        const { isBehind, lagMs, unsettledBytes, diskFreeBytes } = health()
        return {
          status: isBehind ? 'behind' : 'ok',
          lag_seconds: lagMs / 1000,
          unsettled_bytes: unsettledBytes,
          disk_free_bytes: diskFreeBytes,
          dead_letters: await countDeadLetters(database),
        }
      },
    },
    {
      method: 'GET',
      path: '/v1/admin/journal/dead-letters',
      allow: 'admin',
      handle: async ({ query }) => {
        const limit = limitOf(query.get('limit'))
        const cursor = query.get('cursor')
        const letters = await listDeadLetters(database, limit + 1, cursor === null ? null : placeOf(cursor))
        const shown = letters.slice(0, limit)
        const last = shown.at(-1)
        const hasMore = letters.length > limit && last !== undefined
        return { data: shown.map(rendered), limit, has_more: hasMore, next_cursor: hasMore ? cursorOf(last) : null }
      },
    },
  ]
}

function rendered({ atMs, node, segment, position, reason, bytes }: DeadLetterRow): Record<string, unknown> {
  return { time: new Date(atMs).toISOString(), node, segment, position, reason, bytes: bytes.toString('base64') }
}

function limitOf(text: string | null): number {
  const limit = text === null ? DEFAULT_LIMIT : Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new GatewayError('INVALID_FIELD', { message: `limit must be a whole number from 1 to ${MAX_LIMIT}.` })
  }
  return limit
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
  throw new GatewayError('INVALID_FIELD', { message: 'The cursor is not one of ours.' })
}
