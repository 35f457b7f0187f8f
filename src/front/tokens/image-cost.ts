import type { ImageBlock } from '../../shared/core/content.ts'
import { imageSize } from './image-size.ts'

/** How a family counts a picture. */
export interface ImageCosts {
  /** Of one whose size is not known. */
  readonly unknown: number
  /** Of every one, whatever its size. */
  readonly base: number
  /** Pixels on a side of a tile, and what one costs; null: the size does not matter. */
  readonly tile: { readonly side: number; readonly tokens: number } | null
  /** Larger ones are made smaller first. */
  readonly maxTokens: number
}

export function imageCost({ source, detail }: ImageBlock, { unknown, base, tile, maxTokens }: ImageCosts): number {
  if (tile === null || (detail === 'low' && base > 0)) return base
  const size = source.kind === 'base64' ? imageSize(source.data) : null
  if (size === null) return unknown
  const tiles = Math.ceil(size.width / tile.side) * Math.ceil(size.height / tile.side)
  return Math.min(maxTokens, base + tiles * tile.tokens)
}
