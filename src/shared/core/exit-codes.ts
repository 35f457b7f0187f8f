/** What the program and each of its commands end with. */
export const EXIT = {
  /** All is well. */
  ok: 0,
  /** Something was found, or something went wrong: what it was is said. */
  failure: 1,
  /** The command was given wrongly: nothing was done. */
  usage: 2,
} as const
