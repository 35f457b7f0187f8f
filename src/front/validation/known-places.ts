/**
 * A place in a request body whose member names are checked. Elsewhere (tool schemas, metadata, arguments) any name is allowed, also
 * twice: it is the client's own data and passes unchanged.
 */
export interface Place {
  /** Set for objects: the places of the values of some members. */
  readonly members: ReadonlyMap<string, Place> | null
  /** Set for arrays: the place of each element. */
  readonly elements: Place | null
}

const leaf = object({})

/** The top level of a body, for all endpoints. */
export const ROOT_PLACE: Place = object({
  messages: list(object({ content: list(leaf) })),
  input: list(object({ content: list(leaf), summary: list(leaf), output: list(leaf) })),
  tools: list(object({ function: leaf })),
  system: list(leaf),
  stream_options: leaf,
  text: object({ format: leaf }),
  reasoning: leaf,
})

function object(members: Record<string, Place>): Place {
  return { members: new Map(Object.entries(members)), elements: null }
}

function list(elements: Place): Place {
  return { members: null, elements }
}
