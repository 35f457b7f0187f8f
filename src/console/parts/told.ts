import { failureOf } from '../api/failures.ts'
import { isSilent } from '../api/queries.ts'
import { toast } from './toasts.tsx'

/** Tells a failure at the edge of the page, in one sentence: the gateway's own words where there are any. */
export function tellFailure(cause: unknown): void {
  if (isSilent(cause)) return
  const { title, detail } = failureOf(cause)
  toast('bad', detail ?? title)
}

/** Tells the failure of an act that has no place of its own, at the edge of the page; runs `done` when it went well. */
export function told(work: Promise<unknown>, done: () => void = () => undefined): void {
  work.then(done, tellFailure)
}
