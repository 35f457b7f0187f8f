import { readFileSync } from 'node:fs'
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  type Document,
  type Node,
} from 'yaml'
import { ConfigError, type Path, type Place } from './config-error.ts'
import { readFailure } from './read-failure.ts'

/** A configuration file as plain values, with the position of each. */
export interface ConfigDocument {
  /** The name of the file in messages. */
  readonly file: string
  /** An empty object when the file is empty. */
  readonly value: unknown
  /** The place of the value at `path` or, when it is missing, of its section; null: the file has neither. */
  locate(path: Path, part: 'key' | 'value'): Place | null
}

/** Reads YAML (or JSON, its subset). Throws ConfigError, which calls the file `shownAs`, when it cannot be read or parsed. */
export function readDocument(file: string, shownAs: string): ConfigDocument {
  return parseConfig(shownAs, readText(file, shownAs))
}

/** The value of a YAML text; undefined when the text is not YAML. */
export function parseText(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' })
  if (document.errors.length > 0) return undefined
  return document.toJS({ maxAliasCount: 100 })
}

/** A value as YAML, which `readDocument` reads. */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}

function parseConfig(file: string, text: string): ConfigDocument {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' })
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), variable: null }
  }

  const errors = document.errors.map(
    ({ message, pos }) => new ConfigError(`not valid YAML: ${oneLine(message)}`, place(pos[0])),
  )
  if (errors.length > 0) throw ConfigError.of(errors)
  return {
    file,
    value: toValue(document, file),
    locate: (path, part) => {
      const offset = offsetOf(document, path, part)
      return offset === null ? null : place(offset)
    },
  }
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch (cause) {
    throw new ConfigError(`not valid YAML: ${oneLine(cause instanceof Error ? cause.message : String(cause))}`, {
      file,
    })
  }
}

function offsetOf(document: Document, path: Path, part: 'key' | 'value'): number | null {
  let node: unknown = document.contents
  let offset = start(node) ?? 0
  for (const [depth, step] of path.entries()) {
    const isLast = depth === path.length - 1
    if (isAlias(node)) node = node.resolve(document)
    if (isSeq(node) && typeof step === 'number') {
      if (!(step in node.items)) return isLast ? offset : null
      node = node.items[step]
    } else if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && keyText(item.key) === String(step))
      if (!pair) return isLast ? offset : null
      if (isLast && part === 'key') return start(pair.key) ?? offset
      offset = start(pair.key) ?? offset
      node = pair.value
    } else {
      return isLast ? offset : null
    }
    offset = start(node) ?? offset
  }
  return offset
}

function start(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0]
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key)
}

function readText(file: string, shownAs: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`cannot be read (${readFailure(cause)})`, { file: shownAs })
  }
}

function oneLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
