/** How the rows of a page become the body of a list. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  total: number,
  { page = 1, limit = 20 }: { readonly page?: number; readonly limit?: number },
  render: (row: Row) => Item,
): { data: Item[]; page: number; limit: number; total: number; has_more: boolean; next_cursor: null } {
  return { data: rows.map(render), page, limit, total, has_more: page * limit < total, next_cursor: null }
}

export function offsetOf({ page = 1, limit = 20 }: { readonly page?: number; readonly limit?: number }): {
  offset: number
  limit: number
} {
  return { offset: (page - 1) * limit, limit }
}
