import type { Path } from '../../shared/config/config-error.ts'
import { pathText } from '../../shared/config/config-error.ts'

/** An upstream of the configuration that an import writes; members as in the configuration file. */
export interface DraftUpstream {
  id: string
  name?: string
  provider?: string
  dialect?: string
  base_url?: string
  api_version?: string
  auth?: string
  headers?: Record<string, string>
  priority?: number
  quirks?: Record<string, unknown>
  timeouts?: Record<string, number>
  keys: DraftKey[]
  models: DraftModel[]
}

export interface DraftKey {
  name?: string
  credential: string
  weight?: number
  priority?: number
  max_concurrency?: number
  enabled?: boolean
}

export interface DraftModel {
  id: string
  upstream_model?: string
  weight?: number
  priority?: number
}

/** The configuration that an import writes. It has only the sections that the source gave. */
export type DraftConfig = {
  upstreams: DraftUpstream[]
  fallbacks?: Record<string, string[]>
} & Record<string, unknown>

/** A setting of the source that the written configuration lacks, or has in another form. */
export interface Remark {
  /** The place in the source. */
  readonly path: string
  readonly reason: string
}

/** The list of settings that an import could not carry or had to change, in the order of the source. */
export class Remarks {
  readonly lost: Remark[] = []
  readonly changed: Remark[] = []

  lose(path: Path | string, reason: string): void {
    this.lost.push({ path: typeof path === 'string' ? path : pathText(path), reason })
  }

  change(path: Path | string, reason: string): void {
    this.changed.push({ path: typeof path === 'string' ? path : pathText(path), reason })
  }
}

/** Sets the value at `path` of a draft, and makes the sections on the way. */
export function setAt(draft: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const last = path.at(-1) ?? ''
  let section = draft
  for (const step of path.slice(0, -1)) section = (section[step] ??= {}) as Record<string, unknown>
  section[last] = value
}

/** The text in a file in which `${…}` is a reference. */
export function escaped(text: string): string {
  // A function, because `$$` is one "$" in a replacement.
  return text.replaceAll('${', () => '$${')
}

/** Makes ids of upstreams: letters, digits, ".", "_" and "-", each once. */
export class Ids {
  readonly #taken = new Set<string>()

  make(wish: string): string {
    const plain = wish
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, '-')
      .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
      .slice(0, 56)
    const base = plain === '' ? 'upstream' : plain
    let id = base
    for (let number = 2; this.#taken.has(id); number++) id = `${base}-${number}`
    this.#taken.add(id)
    return id
  }
}
