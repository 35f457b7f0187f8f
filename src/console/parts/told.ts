import { failureOf } from '../api/failures.ts'
import { isSilent } from '../api/queries.ts'
import { toast } from './toasts.tsx'

/** Tells the failure of an act that has no place of its own, at the edge of the page; runs `done` when it went well. */
export function told(work: Promise<unknown>, done: () => void = () => undefined): void {
  work.then(done, (cause: unknown) => {
    if (!isSilent(cause)) toast('bad', failureOf(cause).title)
  })
}
