import type { Size } from './codec.ts'

const SIZE = /^(\d{1,5})x(\d{1,5})$/

export interface Shape {
  readonly name: string
  readonly exact: boolean
}

/** Null for `auto` and any other text that is not a size. */
export function sizeOf(text: unknown): Size | null {
  const [, width, height] = typeof text === 'string' ? (SIZE.exec(text) ?? []) : []
  if (width === undefined || height === undefined || Number(width) * Number(height) === 0) return null
  return { width: Number(width), height: Number(height) }
}

/** The nearest of the aspect ratios, which are named like `16:9`; null without a size. */
export function nearestShape(size: Size | null, known: readonly string[]): Shape | null {
  if (size === null) return null
  const wanted = Math.log(size.width / size.height)
  let nearest: { readonly name: string; readonly away: number } | null = null
  for (const name of known) {
    const [across = 1, down = 1] = name.split(':').map(Number)
    const away = Math.abs(Math.log(across / down) - wanted)
    if (nearest === null || away < nearest.away) nearest = { name, away }
  }
  return nearest === null ? null : { name: nearest.name, exact: nearest.away < 1e-9 }
}
