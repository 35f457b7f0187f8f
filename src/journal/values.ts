/** Each throws when the value is of another type. */
export function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`a ${typeof value} where text belongs`)
  return value
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value)
}

export function number(value: unknown): number {
  if (typeof value !== 'number') throw new Error(`a ${typeof value} where a number belongs`)
  return value
}

export function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`a ${typeof value} where a boolean belongs`)
  return value
}

export function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error(`a ${typeof value} where a list belongs`)
  return value
}
