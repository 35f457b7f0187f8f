import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base'

/** The tokenizer merges a run without a break in quadratic time. Longer runs are cut, which adds at most one token per cut. */
const MAX_RUN = 64
/** The number of merged words to cache: enough for the common ones. */
const MERGE_CACHE_ENTRIES = 20_000
/** In a prompt, special tokens such as `<|endoftext|>` are ordinary text. */
const OPTIONS = { disallowedSpecial: new Set<string>() }

const SPACE = 0
const LETTER = 1
const OTHER = 2

setMergeCacheSize(MERGE_CACHE_ENTRIES)

/** Counts the tokens of a text in o200k, in time linear in its length. */
export function countTextTokens(text: string): number {
  let tokens = 0
  let start = 0
  let run = 0
  let runClass = OTHER
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const unitClass = classOf(unit)
    run = unitClass === runClass ? run + 1 : 1
    runClass = unitClass
    if (run <= MAX_RUN || isLowSurrogate(unit)) continue
    tokens += countTokens(text.slice(start, i), OPTIONS)
    start = i
    run = 1
  }
  return tokens + countTokens(start === 0 ? text : text.slice(start), OPTIONS)
}

/** The class of a character. A word of the tokenizer does not cross a change of class. */
function classOf(unit: number): number {
  if (unit <= 0x20) return SPACE
  if (unit >= 0x80) return LETTER
  const lower = unit | 0x20
  return lower >= 0x61 && lower <= 0x7a ? LETTER : OTHER
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
