import type { OperationCalls } from './operation-calls.ts'
import type { CallArguments, ItemOf, ListOperation } from './operations.ts'
import type { CallOptions } from './options.ts'

interface AnyPage<Item> {
  readonly data: readonly Item[]
  readonly has_more: boolean
  readonly next_cursor?: string | null
  /** For lists without a cursor. */
  readonly page?: number
}

interface AnyRequest {
  readonly query?: Readonly<Record<string, unknown>>
}

/** Yields all entries. Requests a page after the page before has been read. */
export async function* itemsOf<Name extends ListOperation>(
  calls: OperationCalls,
  name: Name,
  args: CallArguments<Name>,
): AsyncGenerator<ItemOf<Name>, void> {
  const [request = {}, options = {}] = args as [AnyRequest?, CallOptions?]
  let query = request.query ?? {}
  for (;;) {
    const { data } = await calls.call(name, ...([{ ...request, query }, options] as unknown as CallArguments<Name>))
    const page = data as unknown as AnyPage<ItemOf<Name>>
    yield* page.data
    const next = page.has_more ? nextOf(page) : null
    if (next === null) return
    query = { ...query, ...next }
  }
}

function nextOf({ next_cursor: cursor, page }: AnyPage<unknown>): Readonly<Record<string, unknown>> | null {
  if (typeof cursor === 'string') return { cursor, page: undefined }
  return page === undefined ? null : { page: page + 1 }
}
