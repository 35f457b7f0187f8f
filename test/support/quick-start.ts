/**
 * Options of Node for programs that tests start: V8 else spends a second of the processor on better code for the embedded database,
 * which no test lives long enough to gain from.
 */
export const QUICK_START = ['--liftoff-only']
