import { OPERATIONS } from '../../src/shared/api/operations/index.ts'
import type { OperationSpec } from '../../src/shared/api/operation.ts'
import type { ManagementClient } from './management-client.ts'

export interface LiveEntry {
  readonly id: string
  readonly tags: Record<string, string> | null
}

export interface LiveEvent {
  readonly event: string
  readonly id: string
  readonly atMs: number
  readonly data: {
    readonly data?: LiveEntry[]
    readonly omitted?: number
    readonly incomplete?: boolean
    readonly resumed?: boolean
    readonly code?: string
  }
}

export interface LiveOptions {
  readonly query?: Record<string, string>
  readonly id?: string
  readonly lastEventId?: string
}

/** A stream of events that is read in the background. */
export class LiveStream {
  readonly events: LiveEvent[] = []
  readonly headers: Headers
  readonly status: number
  /** Of a refusal. Resolves when a stream is over. */
  readonly text: Promise<string>
  comments = 0
  lastEventId = ''
  isOver = false
  readonly #leaving: AbortController

  private constructor(response: Response, leaving: AbortController) {
    this.status = response.status
    this.headers = response.headers
    this.#leaving = leaving
    this.text = response.status === 200 ? this.#read(response) : response.text()
  }

  static async of(
    url: string,
    client: ManagementClient,
    name: 'streamLogs' | 'streamEnterpriseLogs' | 'adminLive',
    { query = {}, id = '', lastEventId }: LiveOptions = {},
  ): Promise<LiveStream> {
    const spec: OperationSpec = OPERATIONS[name]
    const leaving = new AbortController()
    const path = spec.path.replace('{id}', id)
    const response = await fetch(`${url}${path}?${new URLSearchParams(query).toString()}`, {
      headers: {
        authorization: `Bearer ${client.token ?? ''}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: leaving.signal,
    })
    return new LiveStream(response, leaving)
  }

  get entries(): LiveEntry[] {
    return this.named('requests').flatMap(({ data }) => data.data ?? [])
  }

  get omitted(): number {
    return this.named('requests').reduce((sum, { data }) => sum + (data.omitted ?? 0), 0)
  }

  named(name: string): LiveEvent[] {
    return this.events.filter(({ event }) => event === name)
  }

  leave(): void {
    this.#leaving.abort()
  }

  async #read(response: Response): Promise<string> {
    let text = ''
    try {
      for await (const piece of response.body ?? []) {
        text += Buffer.from(piece as Uint8Array).toString()
        const blocks = text.split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) this.#take(block)
      }
    } catch {
      // The test has left, or the connection is lost.
    }
    this.isOver = true
    return text
  }

  #take(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':')
      if (colon === 0) this.comments += 1
      else fields.set(line.slice(0, colon), line.slice(colon + 2))
    }
    this.lastEventId = fields.get('id') ?? this.lastEventId
    const data = fields.get('data')
    if (data === undefined) return
    const event = fields.get('event') ?? ''
    this.events.push({ event, id: this.lastEventId, atMs: Date.now(), data: JSON.parse(data) as LiveEvent['data'] })
  }
}
