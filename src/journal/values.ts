// Each function throws when the value has another type.
export function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`expected a text, got a ${typeof value}`)
  return value
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value)
}

export function number(value: unknown): number {
  if (typeof value !== 'number') throw new Error(`expected a number, got a ${typeof value}`)
  return value
}

export function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`expected a boolean, got a ${typeof value}`)
  return value
}

export function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error(`expected a list, got a ${typeof value}`)
  return value
}
