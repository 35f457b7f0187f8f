/** A body to redact, compress and seal. */
export interface BodyTask {
  readonly bytes: Uint8Array
  readonly isCut: boolean
  readonly patterns: readonly string[]
  readonly dataKey: Uint8Array
  readonly maxBytes: number
}

export interface PackedBody {
  readonly digest: Uint8Array
  readonly sealed: Uint8Array
  readonly redactions: number
  readonly isCut: boolean
}
