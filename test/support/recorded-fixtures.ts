import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DialectName } from '../../src/core/endpoint.ts'

const ROOT = fileURLToPath(new URL('../fixtures/recorded/', import.meta.url))

/** One recorded exchange; the files are read on first use and then kept. */
export interface RecordedFixture {
  readonly id: string
  readonly protocol: DialectName
  readonly provider: string
  readonly kind: 'response' | 'stream' | 'error'
  readonly operation: 'count_tokens' | null
  readonly features: ReadonlySet<string>
  readonly status: number
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly response: Buffer
  /** The request body; null when none was recorded. */
  readonly request: Buffer | null
  readonly hasRequest: boolean
}

interface IndexEntry {
  id: string
  protocol: DialectName
  provider: string
  kind: RecordedFixture['kind']
  operation?: 'count_tokens'
  features?: string[]
  request?: { file?: string }
  response: { status: number; headers?: Record<string, string>; file: string }
}

let index: RecordedFixture[] | null = null

/** The cases that `filter` keeps, all by default, in the order of the index. */
export function loadFixtures(filter: (fixture: RecordedFixture) => boolean = () => true): RecordedFixture[] {
  index ??= readIndex('index.json')
  return index.filter(filter)
}

/** The cases of an endpoint that is neither of the two protocols. */
export function loadEndpointFixtures(protocol: 'embeddings' | 'rerank' | 'images' | 'video'): RecordedFixture[] {
  return readIndex('endpoints.json').filter(({ id }) => id.startsWith(`${protocol}/`))
}

function readIndex(file: string): RecordedFixture[] {
  const { cases } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { cases: IndexEntry[] }
  return cases.map((entry) => new LazyFixture(entry))
}

class LazyFixture implements RecordedFixture {
  readonly id: string
  readonly protocol: DialectName
  readonly provider: string
  readonly kind: RecordedFixture['kind']
  readonly operation: 'count_tokens' | null
  readonly features: ReadonlySet<string>
  readonly status: number
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly hasRequest: boolean
  readonly #requestFile: string | null
  readonly #responseFile: string
  #request: Buffer | null = null
  #response: Buffer | null = null

  constructor(entry: IndexEntry) {
    this.id = entry.id
    this.protocol = entry.protocol
    this.provider = entry.provider
    this.kind = entry.kind
    this.operation = entry.operation ?? null
    this.features = new Set(entry.features)
    this.status = entry.response.status
    this.responseHeaders = entry.response.headers ?? {}
    this.#requestFile = entry.request?.file ?? null
    this.#responseFile = entry.response.file
    this.hasRequest = this.#requestFile !== null
  }

  get request(): Buffer | null {
    if (this.#requestFile === null) return null
    return (this.#request ??= readFileSync(join(ROOT, this.#requestFile)))
  }

  get response(): Buffer {
    return (this.#response ??= readFileSync(join(ROOT, this.#responseFile)))
  }
}
