import type { PreparedStatement, Queryable } from './database.ts'

/** The position up to which a segment is settled, as a byte offset into the file. */
export interface SegmentOffset {
  readonly segment: string
  readonly position: number
  /** From the segment's header: distinguishes a new file of the same name from the file of this offset. */
  readonly createdAtMs: number
}

export interface OffsetMove extends SegmentOffset {
  /** The current position that the move requires; null when the offset must not exist yet. */
  readonly expected: number | null
}

/** A request that has a begin record and no end record in the part of the journal that was read. */
export interface OpenRequest {
  readonly requestId: string
  readonly writer: string
  readonly segment: string
  readonly position: number
  /** The begin record as it was in the journal. */
  readonly record: Buffer
}

export interface DeadLetter {
  readonly segment: string
  readonly position: number
  readonly reason: string
  readonly bytes: Buffer
}

export interface DeadLetterRow extends DeadLetter {
  readonly node: string
  readonly atMs: number
}

const MOVE_OFFSETS: PreparedStatement = {
  name: 'journal-offsets-move',
  text: `UPDATE journal_offsets o SET position = m.position
    FROM unnest($2::text[], $3::int8[], $4::int8[]) AS m (segment, expected, position)
    WHERE o.node = $1 AND o.segment = m.segment AND o.position = m.expected
    RETURNING o.segment`,
}

const ADD_OFFSETS: PreparedStatement = {
  name: 'journal-offsets-add',
  text: `INSERT INTO journal_offsets (node, segment, position, created_at_ms)
    SELECT $1, m.segment, m.position, m.created_at_ms
    FROM unnest($2::text[], $3::int8[], $4::int8[]) AS m (segment, position, created_at_ms)
    ON CONFLICT DO NOTHING
    RETURNING segment`,
}

const ADD_OPEN: PreparedStatement = {
  name: 'journal-open-add',
  text: `INSERT INTO journal_open (node, request_id, writer, segment, position, record)
    SELECT $1, o.request_id, o.writer, o.segment, o.position, o.record
    FROM unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::bytea[])
      AS o (request_id, writer, segment, position, record)
    ON CONFLICT DO NOTHING`,
}

const REMOVE_OPEN: PreparedStatement = {
  name: 'journal-open-remove',
  text: 'DELETE FROM journal_open WHERE node = $1 AND request_id = ANY ($2::text[]) RETURNING request_id',
}

export function listOffsets(queryable: Queryable, node: string): Promise<SegmentOffset[]> {
  return queryable.query(
    'SELECT segment, position, created_at_ms AS "createdAtMs" FROM journal_offsets WHERE node = $1',
    [node],
  )
}

/** Returns false when an offset is not at its expected position: another settler moved it. The caller must roll back. */
export async function moveOffsets(queryable: Queryable, node: string, moves: readonly OffsetMove[]): Promise<boolean> {
  const added = moves.filter(({ expected }) => expected === null)
  const moved = moves.filter(({ expected }) => expected !== null)
  let changed = 0
  if (added.length > 0) {
    const rows = await queryable.query(ADD_OFFSETS, [
      node,
      added.map(({ segment }) => segment),
      added.map(({ position }) => position),
      added.map(({ createdAtMs }) => createdAtMs),
    ])
    changed += rows.length
  }
  if (moved.length > 0) {
    const rows = await queryable.query(MOVE_OFFSETS, [
      node,
      moved.map(({ segment }) => segment),
      moved.map(({ expected }) => expected),
      moved.map(({ position }) => position),
    ])
    changed += rows.length
  }
  return changed === moves.length
}

export async function removeOffsets(queryable: Queryable, node: string, segments: readonly string[]): Promise<void> {
  if (segments.length === 0) return
  await queryable.query('DELETE FROM journal_offsets WHERE node = $1 AND segment = ANY ($2::text[])', [node, segments])
}

export async function addOpenRequests(queryable: Queryable, node: string, open: readonly OpenRequest[]): Promise<void> {
  if (open.length === 0) return
  await queryable.query(ADD_OPEN, [
    node,
    open.map(({ requestId }) => requestId),
    open.map(({ writer }) => writer),
    open.map(({ segment }) => segment),
    open.map(({ position }) => position),
    open.map(({ record }) => record),
  ])
}

/** Resolves to the number of these requests that were open. */
export async function removeOpenRequests(
  queryable: Queryable,
  node: string,
  requestIds: readonly string[],
): Promise<number> {
  if (requestIds.length === 0) return 0
  return (await queryable.query(REMOVE_OPEN, [node, requestIds])).length
}

export function listOpenRequests(
  queryable: Queryable,
  node: string,
  writer: string,
  limit: number,
): Promise<OpenRequest[]> {
  return queryable.query(
    `SELECT request_id AS "requestId", writer, segment, position, record FROM journal_open
      WHERE node = $1 AND writer = $2 ORDER BY request_id LIMIT $3`,
    [node, writer, limit],
  )
}

export async function listOpenWriters(queryable: Queryable, node: string): Promise<string[]> {
  const rows = await queryable.query<{ writer: string }>('SELECT DISTINCT writer FROM journal_open WHERE node = $1', [
    node,
  ])
  return rows.map(({ writer }) => writer)
}

export async function addDeadLetters(
  queryable: Queryable,
  node: string,
  letters: readonly DeadLetter[],
): Promise<void> {
  if (letters.length === 0) return
  await queryable.query(
    `INSERT INTO journal_dead_letters (node, segment, position, reason, bytes)
      SELECT $1, d.segment, d.position, d.reason, d.bytes
      FROM unnest($2::text[], $3::int8[], $4::text[], $5::bytea[]) AS d (segment, position, reason, bytes)
      ON CONFLICT DO NOTHING`,
    [
      node,
      letters.map(({ segment }) => segment),
      letters.map(({ position }) => position),
      letters.map(({ reason }) => reason),
      letters.map(({ bytes }) => bytes),
    ],
  )
}

/** Lists dead letters by their position in the journal. */
export function listDeadLetters(
  queryable: Queryable,
  page: {
    readonly limit: number
    readonly after: readonly [node: string, segment: string, position: number] | null
    readonly offset?: number
  },
): Promise<DeadLetterRow[]> {
  const { limit, after, offset = 0 } = page
  return queryable.query(
    `SELECT node, segment, position, reason, bytes, (extract(epoch FROM at) * 1000)::int8 AS "atMs"
      FROM journal_dead_letters WHERE $1::text IS NULL OR (node, segment, position) > ($1::text, $2::text, $3::int8)
      ORDER BY node, segment, position LIMIT $4 OFFSET $5`,
    [...(after ?? [null, null, null]), limit, offset],
  )
}

export async function countDeadLetters(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ count: number }>('SELECT count(*)::int8 AS count FROM journal_dead_letters')
  return row?.count ?? 0
}
