/** Deviations of a host from the service that defines its dialect, as far as bodies are edited for them. */
export interface HostQuirks {
  /** The name of the token limit that the host knows for all its models. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  readonly takesDeveloperRole?: boolean
  /** False: a request must not ask for usage in streams; it comes by itself, or not at all. Absent: true. */
  readonly takesStreamOptions?: boolean
  /** Fields that the host refuses and the answer does not depend on. They are left out and reported. */
  readonly refusedFields?: readonly string[]
  /** Fields that the host knows by another name. */
  readonly fieldNames?: Readonly<Record<string, string>>
}
