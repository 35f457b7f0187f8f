/** The exit codes of the program and of each command. */
export const EXIT = {
  /** The command succeeded and found no fault. */
  ok: 0,
  /** The command failed, or found a fault, and has printed it. */
  failure: 1,
  /** The arguments are wrong: the command did nothing. */
  usage: 2,
} as const
