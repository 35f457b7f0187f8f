import type { Static } from 'typebox'
import type { DeadLetter, JOURNAL } from '../../shared/api/operations/journal.ts'
import type { JournalHealth } from '../../shared/core/health.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Database } from '../store/database.ts'
import { takeDeadLetter } from '../store/dead-letters.ts'
import type { DeadLetterPlace } from '../store/dead-letters.ts'
import type { DeadLetterRow } from '../store/journal.ts'
import { countDeadLetters, listDeadLetters } from '../store/journal.ts'
import { storableText } from '../store/text.ts'
import type { Handlers } from './call.ts'
import { orNotFound } from './or-not-found.ts'
import { longPageOf } from './pages.ts'

export interface DeadLetterParts {
  /** Makes the row of a letter that was taken in the transaction of `database`. Rejects when it cannot become a row. */
  readonly retry: (
    database: Database,
    letter: DeadLetterRow,
  ) => Promise<{
    readonly requestId: string
    readonly costMicro: number
    readonly isInterrupted: boolean
    readonly budgets: readonly string[]
  }>
  /** The charge of a retried letter to these budgets is committed. */
  readonly onCharged: (budgets: readonly string[]) => void
  /** The reason of such a rejection; null for any other. */
  readonly whyNot: (cause: unknown) => string | null
}

/** The settlement lag, and the dead letters, records that could not become rows: shows, retries and discards them. */
export function journalHandlers(
  database: Database,
  health: () => JournalHealth,
  letters: DeadLetterParts,
): Handlers<keyof typeof JOURNAL> {
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

    adminRetryDeadLetter: async ({ params, audit, afterCommit }) => {
      const letter = orNotFound(await takeDeadLetter(database, placeOfId(params.id)))
      const retried = await letters.retry(database, letter).catch((cause: unknown) => {
        const why = letters.whyNot(cause)
        if (why === null) throw cause
        throw new GatewayError('CONFLICT', { message: `This dead letter cannot be settled: ${why}.` })
      })
      afterCommit(() => {
        letters.onCharged(retried.budgets)
      })
      const answer = {
        request_id: retried.requestId,
        cost: retried.costMicro,
        interrupted: retried.isInterrupted,
      }
      audit({ before: audited(letter), after: answer })
      return answer
    },

    adminDiscardDeadLetter: async ({ params, audit }) => {
      const letter = orNotFound(await takeDeadLetter(database, placeOfId(params.id)))
      audit({ before: audited(letter), after: null })
      return null
    },
  }
}

/** The facts that stay known of a letter that is gone. */
function audited({ node, segment, position, reason, bytes }: DeadLetterRow): Record<string, unknown> {
  return { node, segment, position, reason, size_bytes: bytes.length }
}

/** Throws NOT_FOUND. */
function placeOfId(id: string): DeadLetterPlace {
  try {
    const [node, segment, position] = placeOf(id)
    return { node, segment, position }
  } catch {
    throw new GatewayError('NOT_FOUND')
  }
}

function rendered(letter: DeadLetterRow): Static<typeof DeadLetter> {
  const { atMs, node, segment, position, reason, bytes } = letter
  const time = new Date(atMs).toISOString()
  return { id: cursorOf(letter), time, node, segment, position, reason, bytes: bytes.toString('base64') }
}

function cursorOf({ node, segment, position }: DeadLetterRow): string {
  return Buffer.from(JSON.stringify([node, segment, position])).toString('base64url')
}

function placeOf(cursor: string): readonly [node: string, segment: string, position: number] {
  const [node, segment, position] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  if (typeof node === 'string' && typeof segment === 'string' && Number.isSafeInteger(position)) {
    return [storableText(node), storableText(segment), position as number]
  }
  throw new RangeError('the cursor is not valid')
}
