/** The `format` of thinking about the calls that follow it. */
export const TOOL_PLAN = 'tool_plan'

/** A call without arguments has this text as its arguments, or an empty text. */
export const NO_ARGUMENTS = 'null'
