/** One step of the schema. */
export interface Migration {
  /** The id never changes once it is released. */
  readonly id: string
  readonly sql: string
}
