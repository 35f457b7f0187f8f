/** A request has at most this many tags; further ones are left out. */
export const MAX_TAGS = 8
/** The longest name, and the longest value, in characters. A longer value is cut; a tag with a longer name is left out. */
export const MAX_TAG_LENGTH = 64
