import type { LogRow } from './log-calls.ts'

/** An event of the stream of requests. */
export interface RequestsEvent {
  /** The newest first. */
  readonly data: readonly LogRow[]
  /** The number of older rows that the gateway left out. */
  readonly omitted: number
  /** Rows are missing, and the gateway cannot tell how many. */
  readonly incomplete: boolean
}

export function hasGap({ omitted, incomplete }: Pick<RequestsEvent, 'omitted' | 'incomplete'>): boolean {
  return omitted > 0 || incomplete
}

/** The newest rows after an event. After a gap, those of before are not the next ones. */
export function newestAfter<Row>(
  event: Omit<RequestsEvent, 'data'> & { readonly data: readonly Row[] },
  before: readonly Row[],
  most: number,
): readonly Row[] {
  return [...event.data, ...(hasGap(event) ? [] : before)].slice(0, most)
}
