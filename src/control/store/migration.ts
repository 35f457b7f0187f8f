/** One step of the schema. */
export interface Migration {
  /** Never changed once released. */
  readonly id: string
  readonly sql: string
}
