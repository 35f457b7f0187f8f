import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommonDialectName } from '../../src/shared/core/endpoint.ts'

const ROOT = fileURLToPath(new URL('../fixtures/recorded/', import.meta.url))

/** One recorded exchange; its files are read on first use and then cached. */
export interface RecordedFixture {
  readonly id: string
  readonly protocol: CommonDialectName
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

export type UpstreamFixture = Pick<RecordedFixture, 'id' | 'kind' | 'features' | 'status' | 'response'> & {
  readonly operation: string | null
}

interface IndexEntry {
  id: string
  protocol: CommonDialectName
  provider: string
  kind: RecordedFixture['kind']
  operation?: 'count_tokens'
  features?: string[]
  request?: { file?: string }
  response: { status: number; headers?: Record<string, string>; file: string }
}

let index: RecordedFixture[] | null = null

/** The cases that pass `filter`, in the order of the index; all by default. */
export function loadFixtures(filter: (fixture: RecordedFixture) => boolean = () => true): RecordedFixture[] {
  index ??= readIndex('index.json')
  return index.filter(filter)
}

/** The cases of an endpoint that is not a conversation. */
export function loadEndpointFixtures(protocol: 'embeddings' | 'rerank' | 'images' | 'video'): RecordedFixture[] {
  return readIndex('endpoints.json').filter(({ id }) => id.startsWith(`${protocol}/`))
}

/** The cases of a dialect that only upstreams speak; `operation` marks those of its other endpoints. */
export function loadUpstreamFixtures(protocol: 'gemini'): UpstreamFixture[] {
  return readEntries(`${protocol}.json`).map((entry) => ({
    id: entry.id,
    kind: entry.kind,
    operation: entry.operation ?? null,
    features: new Set(entry.features),
    status: entry.response.status,
    response: readFileSync(join(ROOT, entry.response.file)),
  }))
}

function readEntries(file: string): IndexEntry[] {
  return (JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { cases: IndexEntry[] }).cases
}

function readIndex(file: string): RecordedFixture[] {
  return readEntries(file).map((entry) => new LazyFixture(entry))
}

class LazyFixture implements RecordedFixture {
  readonly id: string
  readonly protocol: CommonDialectName
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

/** A recorded exchange in a dialect of the clouds. */
export interface CloudFixture {
  readonly id: string
  readonly protocol: 'anthropic-vertex' | 'bedrock-converse' | 'bedrock-invoke' | 'cohere-chat'
  readonly kind: RecordedFixture['kind']
  readonly format: 'json' | 'sse' | 'eventstream' | 'events-only'
  readonly status: number
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Empty for `events-only`. */
  readonly response: Buffer
  /** The events of an AWS event stream as the recorder decoded them. */
  readonly decoded: readonly { readonly headers: Readonly<Record<string, string>>; readonly payload: unknown }[]
  readonly request: Buffer | null
}

interface CloudEntry {
  id: string
  protocol: CloudFixture['protocol']
  kind: CloudFixture['kind']
  request?: { file?: string }
  response: {
    status: number
    format: CloudFixture['format']
    headers?: Record<string, string>
    file?: string
    decoded_file?: string
  }
}

export function loadCloudFixtures(protocol?: CloudFixture['protocol']): CloudFixture[] {
  const { cases } = JSON.parse(readFileSync(join(ROOT, 'clouds.json'), 'utf8')) as { cases: CloudEntry[] }
  const read = (file: string | undefined): Buffer | null => (file === undefined ? null : readFileSync(join(ROOT, file)))
  return cases
    .filter((entry) => protocol === undefined || entry.protocol === protocol)
    .map(({ id, protocol: spoken, kind, request, response }) => ({
      id,
      protocol: spoken,
      kind,
      format: response.format,
      status: response.status,
      responseHeaders: response.headers ?? {},
      response: read(response.file) ?? Buffer.alloc(0),
      decoded: String(read(response.decoded_file) ?? '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as CloudFixture['decoded'][number]),
      request: read(request?.file),
    }))
}
