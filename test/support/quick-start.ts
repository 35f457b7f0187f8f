/**
 * Options of Node for programs that tests start. Without them V8 spends a second of CPU on optimising the WebAssembly of the embedded
 * database; no test runs long enough to gain from that.
 */
export const QUICK_START = ['--liftoff-only']
