import { describe, expect, it } from 'vitest'
import { DARK, LIGHT } from '../../../src/console/theme/colours.ts'
import type { Colours } from '../../../src/console/theme/colours.ts'

/** Colours, the grounds that they stand on, and the least contrast (WCAG 2.2: 1.4.3, 1.4.6, 1.4.11). */
const PAIRS: ReadonlyArray<readonly [keyof Colours, ReadonlyArray<keyof Colours>, number]> = [
  ['text', ['ground', 'raised', 'accentSoft', 'goodSoft', 'warnSoft', 'badSoft'], 7],
  ['muted', ['ground', 'raised', 'accentSoft'], 4.5],
  ['accent', ['ground', 'raised', 'accentSoft'], 4.5],
  ['good', ['ground', 'raised', 'goodSoft'], 4.5],
  ['warn', ['ground', 'raised', 'warnSoft'], 4.5],
  ['bad', ['ground', 'raised', 'badSoft'], 4.5],
  ['onAccent', ['accent'], 4.5],
  ['onBad', ['bad'], 4.5],
  ['control', ['ground', 'raised'], 3],
  ...(['group1', 'group2', 'group3', 'group4', 'group5', 'group6'] as const).map(
    (group) => [group, ['ground'], 3] as [keyof Colours, Array<keyof Colours>, number],
  ),
]

const CASES = PAIRS.flatMap(([colour, grounds, least]) => grounds.map((ground) => [colour, ground, least] as const))

describe.each([
  ['light', LIGHT],
  ['dark', DARK],
] as const)('the %s theme', (_, colours) => {
  it.each(CASES)('shows %s on %s with a contrast of at least %d', (colour, ground, least) => {
    expect(contrast(colours[colour], colours[ground])).toBeGreaterThanOrEqual(least)
  })
})

function contrast(one: string, other: string): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
