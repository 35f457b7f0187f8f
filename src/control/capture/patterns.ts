import { RE2JS } from 're2js'
import type { Range } from './ranges.ts'

/** The size of a compiled pattern, roughly its instructions. Time is proportional to it and to the text. */
const MAX_PROGRAM = 2_000

/** A pattern that cannot be used; the message says why. */
export class PatternError extends Error {}

/** A pattern of the settings. Matches in time proportional to the text, whatever the pattern. */
export class RedactPattern {
  readonly #compiled: RE2JS

  /** Throws PatternError. */
  constructor(pattern: string) {
    this.#compiled = compiled(pattern)
  }

  /** Adds where the text matches. */
  find(text: string, label: string, ranges: Range[]): void {
    // Without a match, which is most often, this test is several times faster.
    if (!this.#compiled.test(text)) return
    const matcher = this.#compiled.matcher(text)
    while (matcher.find()) {
      const start = matcher.start()
      const end = matcher.end()
      if (end > start) ranges.push({ start, end, label })
    }
  }
}

function compiled(pattern: string): RE2JS {
  const result = compileOrThrow(pattern)
  if (result.programSize() > MAX_PROGRAM) throw new PatternError('is too large: use fewer or smaller repetitions')
  if (result.test('')) throw new PatternError('matches the empty text, and so every place')
  return result
}

function compileOrThrow(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new PatternError(`is not a pattern of RE2, which has no look-around and no back references (${why})`, {
      cause,
    })
  }
}
