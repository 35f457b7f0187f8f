import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, longListOf, LongPageQuery, NOTHING, ok, operation, Time } from '../operation.ts'

const Count = Type.Integer({ minimum: 0 })

export const JournalState = Type.Object({
  status: Type.Enum(['ok', 'behind']),
  lag_seconds: Type.Number({ description: 'How long the oldest record waits for the database.' }),
  unsettled_bytes: Count,
  disk_free_bytes: nullable(Type.Integer()),
  dead_letters: Count,
})

export const DeadLetter = Type.Object({
  id: Id,
  time: Time,
  node: Type.String(),
  segment: Type.String(),
  position: Count,
  reason: Type.String({ description: 'Why the record could not become a row.' }),
  bytes: Type.String({ description: 'The record in base64.' }),
})

const RetriedDeadLetter = Type.Object({
  request_id: Type.String({ description: 'The request in the log.' }),
  cost: Type.Integer({ description: 'Micro-units that were charged.', minimum: 0 }),
  interrupted: Type.Boolean({
    description: 'Whether the record tells nothing of the end of the request, which then costs nothing.',
  }),
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
  adminRetryDeadLetter: operation({
    method: 'POST',
    path: '/v1/admin/journal/dead-letters/{id}/retry',
    tag: 'Operation',
    summary: 'Make the row of a dead letter, charge its cost, and remove the dead letter',
    access: 'platform-admin',
    answer: ok(RetriedDeadLetter),
  }),
  adminDiscardDeadLetter: operation({
    method: 'DELETE',
    path: '/v1/admin/journal/dead-letters/{id}',
    tag: 'Operation',
    summary: 'Remove a dead letter for good; its request is not charged',
    access: 'platform-admin',
    answer: NOTHING,
  }),
} as const
