import { yieldTo } from '../../shared/runtime/thread-priority.ts'

/** The lowest: captures may wait for everything else. */
const NICENESS = 19

yieldTo(NICENESS)
