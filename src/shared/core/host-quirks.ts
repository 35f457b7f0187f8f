/** What a host says otherwise than the service whose dialect it speaks, as far as bodies of that dialect are edited for it. */
export interface HostQuirks {
  /** The name of the limit of tokens that it knows for all its models. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  readonly takesDeveloperRole?: boolean
  /** False: usage of streams must not be asked for; it comes by itself, or not at all. Taken when absent. */
  readonly takesStreamOptions?: boolean
  /** Fields that it refuses and an answer can do without: they are left out, and reported. */
  readonly refusedFields?: readonly string[]
  /** Fields that it knows by another name. */
  readonly fieldNames?: Readonly<Record<string, string>>
}
