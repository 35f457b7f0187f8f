import { MAX_PAGED_ROWS } from '../../shared/api/operation.ts'
import { GatewayError } from '../../shared/core/errors.ts'

const DEFAULT_LIMIT = 20

/** Returns the body of a list from the rows of a page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  total: number,
  { page = 1, limit = DEFAULT_LIMIT }: { readonly page?: number; readonly limit?: number },
  render: (row: Row) => Item,
): { data: Item[]; page: number; limit: number; total: number; has_more: boolean; next_cursor: null } {
  return { data: rows.map(render), page, limit, total, has_more: page * limit < total, next_cursor: null }
}

export function offsetOf({ page = 1, limit = DEFAULT_LIMIT }: { readonly page?: number; readonly limit?: number }): {
  offset: number
  limit: number
} {
  return { offset: (page - 1) * limit, limit }
}

interface LongQuery {
  readonly page?: number
  readonly limit?: number
  readonly cursor?: string
}

/** The part of a long list to read: after the row of a cursor, or from an offset. */
export interface Stretch<Place> {
  readonly limit: number
  readonly after: Place | null
  readonly offset: number
}

/** A list that may be long, newest first. */
export interface LongList<Row, Place> {
  readonly read: (stretch: Stretch<Place>) => Promise<readonly Row[]>
  /** Counts the rows, up to `most`: counting all would take as long as reading them. */
  readonly count: (most: number) => Promise<number>
  readonly cursorOf: (row: Row) => string
  /** Throws a RangeError or a SyntaxError for an invalid cursor. */
  readonly placeOf: (cursor: string) => Place
}

export interface LongPage<Item> {
  data: Item[]
  page?: number
  limit: number
  total?: number
  has_more: boolean
  next_cursor: string | null
}

/** Throws INVALID_FIELD for an invalid cursor, and for a page beyond `MAX_PAGED_ROWS`. */
export async function longPageOf<Row, Place, Item>(
  query: LongQuery,
  list: LongList<Row, Place>,
  render: (row: Row) => Item,
): Promise<LongPage<Item>> {
  const { cursor, page = 1, limit = DEFAULT_LIMIT } = query
  const after = cursor === undefined ? null : placeAt(query, list)
  if (after === null && page * limit > MAX_PAGED_ROWS) {
    throw invalid('/page', `Pages end at ${MAX_PAGED_ROWS} entries: continue with next_cursor.`)
  }
  const rows = await list.read({ limit: limit + 1, after, offset: after === null ? (page - 1) * limit : 0 })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  const answer = {
    data: shown.map(render),
    limit,
    has_more: hasMore,
    next_cursor: hasMore ? list.cursorOf(last) : null,
  }
  return after === null ? { ...answer, page, total: await list.count(MAX_PAGED_ROWS) } : answer
}

function placeAt<Row, Place>({ page, cursor = '' }: LongQuery, list: LongList<Row, Place>): Place {
  if (page !== undefined) throw invalid('/page', 'Give a page or a cursor, not both.')
  try {
    return list.placeOf(cursor)
  } catch (cause) {
    if (!(cause instanceof RangeError) && !(cause instanceof SyntaxError)) throw cause
    throw invalid('/cursor', 'The cursor is not valid: use the next_cursor of an earlier page.')
  }
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('INVALID_FIELD', { message, param })
}
