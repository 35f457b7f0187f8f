import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { longListOf, LongPageQuery, ok, operation, Time } from '../operation.ts'

const Count = Type.Integer({ minimum: 0 })

export const JournalState = Type.Object({
  status: Type.Enum(['ok', 'behind']),
  lag_seconds: Type.Number({ description: 'How long the oldest record waits for the database.' }),
  unsettled_bytes: Count,
  disk_free_bytes: nullable(Type.Integer()),
  dead_letters: Count,
})

export const DeadLetter = Type.Object({
  time: Time,
  node: Type.String(),
  segment: Type.String(),
  position: Count,
  reason: Type.String({ description: 'Why the record could not become a row.' }),
  bytes: Type.String({ description: 'The record in base64.' }),
})

export const JOURNAL = {
  adminJournal: operation({
    method: 'GET',
    path: '/v1/admin/journal',
    tag: 'Operation',
    summary: 'Records on their way to the database',
    access: 'platform-admin',
    answer: ok(JournalState),
  }),
  adminDeadLetters: operation({
    method: 'GET',
    path: '/v1/admin/journal/dead-letters',
    tag: 'Operation',
    summary: 'Records that could not become rows',
    access: 'platform-admin',
    query: Type.Object(LongPageQuery),
    answer: ok(longListOf(DeadLetter)),
  }),
} as const
