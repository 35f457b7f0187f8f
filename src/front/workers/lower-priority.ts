import { yieldTo } from '../../shared/runtime/thread-priority.ts'

/** Workers run below the serving thread: large bodies may take longer, but must not delay small ones. */
const NICENESS = 10

yieldTo(NICENESS)
