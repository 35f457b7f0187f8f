import type { ImageBlock } from '../../shared/core/content.ts'
import { imageSize } from './image-size.ts'

/** The costs of a picture in tokens, for a model family. */
export interface ImageCosts {
  /** The cost of a picture of unknown size. */
  readonly unknown: number
  /** The fixed cost of every picture. */
  readonly base: number
  /** The side of a tile in pixels, and its cost; null: the size does not matter. */
  readonly tile: { readonly side: number; readonly tokens: number } | null
  /** The most that a picture costs: providers scale larger ones down. */
  readonly maxTokens: number
}

export function imageCost({ source, detail }: ImageBlock, { unknown, base, tile, maxTokens }: ImageCosts): number {
  if (tile === null || (detail === 'low' && base > 0)) return base
  const size = source.kind === 'base64' ? imageSize(source.data) : null
  if (size === null) return unknown
  const tiles = Math.ceil(size.width / tile.side) * Math.ceil(size.height / tile.side)
  return Math.min(maxTokens, base + tiles * tile.tokens)
}
