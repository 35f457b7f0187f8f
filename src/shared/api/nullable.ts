import { Type } from 'typebox'
import type { Static, TSchema, TUnsafe } from 'typebox'

/** `schema` or null. Written as a list of types, not as a union, so that an error names the field and not a branch. */
export function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const plain: { type?: unknown } = schema
  const types: unknown[] = Array.isArray(plain.type) ? plain.type : [plain.type]
  return Type.Unsafe<Static<Schema> | null>({ ...schema, type: [...types, 'null'] })
}

/** A string, or an array of `items`. */
export function stringOrArray<Items extends TSchema>(
  items: Items,
  options: { description: string; maxItems?: number },
): TUnsafe<string | Static<Items>[]> {
  return Type.Unsafe<string | Static<Items>[]>({ type: ['string', 'array'], items, ...options })
}

/** A noun, or null. A union and not a list of types: generated clients have a class for a noun only where it stands as a whole. */
export const nounOrNull = <T extends TSchema>(noun: T, options: { readonly description?: string } = {}) =>
  Type.Union([noun, Type.Null()], options)
