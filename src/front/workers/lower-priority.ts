import { yieldTo } from '../../shared/runtime/thread-priority.ts'

/** Below the thread that serves: a large body may take longer, but not the time of small ones. */
const NICENESS = 10

yieldTo(NICENESS)
