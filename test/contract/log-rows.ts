import type { LogRow } from '../../src/control/store/log-rows.ts'
import { LOG_COLUMNS } from '../../src/control/store/request-log.ts'
import type { RequestLogRow } from '../../src/control/store/request-log.ts'

/** The row as it is read from the database. */
export function namedRow({ values }: LogRow): RequestLogRow {
  return Object.fromEntries(LOG_COLUMNS.map(({ name }, index) => [name, values[index]])) as unknown as RequestLogRow
}
