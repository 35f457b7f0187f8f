/** The `format` of thinking about the calls that follow it. */
export const TOOL_PLAN = 'tool_plan'

/** A call without arguments has the text `null` for them, or none. */
export const NO_ARGUMENTS = 'null'
