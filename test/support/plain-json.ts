// Recorded JSON, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any

/** Removes members that are null, so that absent and null members compare as equal. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as Record<string, Json>)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNulls(member)]),
  )
}
