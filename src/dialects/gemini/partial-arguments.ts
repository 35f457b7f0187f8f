import type { JsonObject } from '../../shared/core/json-object.ts'
import { objects, textOr } from '../common/fields.ts'

const MAX_DEPTH = 64
/** The largest index in a path, so that one piece cannot create a huge array. */
const MAX_INDEX = 65_535

type Container = Record<string | number, unknown>

/** Assembles the arguments of one call from pieces. Each piece has the path of its place. */
export class PartialArguments {
  readonly #root: Container = Object.create(null) as Container

  /** Adds the `partialArgs` of a part. Joins the pieces of one string and ignores pieces without a readable path. */
  add(pieces: unknown): void {
    for (const piece of objects(pieces)) {
      const path = readPath(textOr(piece['jsonPath'], ''))
      if (path !== null) this.#set(path, piece)
    }
  }

  /** The arguments as JSON text. */
  text(): string {
    return JSON.stringify(this.#root)
  }

  #set(path: readonly (string | number)[], piece: JsonObject): void {
    let here = this.#root
    for (let at = 0; at < path.length - 1; at++) {
      const step = path[at] ?? ''
      if (!fits(here, step)) return
      const next = here[step]
      if (typeof next !== 'object' || next === null) {
        here[step] = typeof path[at + 1] === 'number' ? [] : (Object.create(null) as Container)
      }
      here = here[step] as Container
    }
    const last = path.at(-1) ?? ''
    if (!fits(here, last)) return
    const before = here[last]
    const value = valueOf(piece)
    here[last] = typeof before === 'string' && typeof value === 'string' ? before + value : value
  }
}

function fits(container: Container, step: string | number): boolean {
  return typeof step === 'string' ? !Array.isArray(container) : Array.isArray(container) && step <= MAX_INDEX
}

function valueOf(piece: JsonObject): unknown {
  if (typeof piece['stringValue'] === 'string') return piece['stringValue']
  if (typeof piece['numberValue'] === 'number') return piece['numberValue']
  return typeof piece['boolValue'] === 'boolean' ? piece['boolValue'] : null
}

/** Splits `$.a.b[0]['c d']` into its steps; null when it is not a path. */
function readPath(text: string): (string | number)[] | null {
  if (!text.startsWith('$')) return null
  const steps: (string | number)[] = []
  let at = 1
  while (at < text.length && steps.length <= MAX_DEPTH) {
    const end = text[at] === '.' ? endOfName(text, at + 1) : endOfBracket(text, at)
    if (end === -1) return null
    steps.push(text[at] === '.' ? text.slice(at + 1, end) : stepInBrackets(text.slice(at + 1, end - 1)))
    at = end
  }
  return steps.length === 0 || at < text.length ? null : steps
}

function endOfName(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '.' && text[at] !== '[') at++
  return at === from ? -1 : at
}

/** Index after the bracket. A quoted name may hold brackets. */
function endOfBracket(text: string, open: number): number {
  if (text[open] !== '[') return -1
  const quote = text[open + 1]
  if (quote !== "'" && quote !== '"') return text.indexOf(']', open) + 1 || -1
  let at = open + 2
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1
  return text[at + 1] === ']' ? at + 2 : -1
}

function stepInBrackets(inner: string): string | number {
  const quote = inner[0]
  if (quote === "'" || quote === '"') return inner.slice(1, -1).replaceAll(/\\(.)/g, '$1')
  const index = Number(inner)
  return Number.isInteger(index) && index >= 0 ? index : inner
}
