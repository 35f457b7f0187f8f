import type { Citation } from '../../src/shared/core/content.ts'
import type { UpstreamFailure } from '../../src/shared/core/dialect.ts'
import type { EndEvent, StreamEvent } from '../../src/shared/core/stream-event.ts'

export interface ReadBlock {
  readonly type: 'text' | 'thinking' | 'redacted' | 'tool' | 'native'
  /** Text, thinking, data, or the text of a call's input. */
  text: string
  signature: string
  readonly id: string
  readonly name: string
  readonly citations: Citation[]
}

export interface ReadStream {
  readonly blocks: readonly ReadBlock[]
  readonly end: EndEvent | null
  readonly failure: UpstreamFailure | null
}

/** Checks events by the grammar of `stream-event.ts` and assembles their blocks. Throws when an event breaks the grammar. */
export function readStream(events: readonly StreamEvent[]): ReadStream {
  const blocks: ReadBlock[] = []
  let open: ReadBlock | null = null
  let started = false
  let signed = false
  let end: EndEvent | null = null
  let failure: UpstreamFailure | null = null
  const begin = (type: ReadBlock['type'], id = '', name = ''): ReadBlock => {
    if (!started || open !== null) throw new Error(`${type} begins out of place`)
    const block: ReadBlock = { type, text: '', signature: '', id, name, citations: [] }
    blocks.push(block)
    signed = false
    return block
  }
  const within = (type: ReadBlock['type']): ReadBlock => {
    if (open?.type !== type) throw new Error(`part of ${type} out of place`)
    return open
  }
  for (const event of events) {
    if (end !== null || failure !== null) throw new Error(`${event.type} behind the last event`)
    if (
      (event.type.endsWith('-delta') || event.type === 'thinking-signature') &&
      'text' in event &&
      event.text === ''
    ) {
      throw new Error(`empty ${event.type}`)
    }
    switch (event.type) {
      case 'start':
        if (started) throw new Error('second start')
        started = true
        break
      case 'text-start':
        open = begin('text')
        break
      case 'thinking-start':
        open = begin('thinking')
        break
      case 'tool-start':
        open = begin('tool', event.id, event.name)
        break
      case 'native-start':
        open = begin('native', '', event.kind)
        break
      case 'redacted-thinking':
        begin('redacted').text = event.data
        break
      case 'text-delta':
        within('text').text += event.text
        break
      case 'citation':
        within('text').citations.push(event.citation)
        break
      case 'thinking-delta':
        if (signed) throw new Error('thinking behind its signature')
        within('thinking').text += event.text
        break
      case 'thinking-signature':
        within('thinking').signature += event.text
        signed = true
        break
      case 'tool-delta':
        within('tool').text += event.text
        break
      case 'native-delta':
        within('native')
        break
      case 'text-end':
      case 'thinking-end':
      case 'tool-end':
      case 'native-end':
        within(event.type.slice(0, -'-end'.length) as ReadBlock['type'])
        open = null
        break
      case 'end':
        if (!started || open !== null) throw new Error('end out of place')
        end = event
        break
      case 'error':
        failure = event.failure
        break
      case 'ping':
    }
  }
  if (end === null && failure === null) throw new Error('neither end nor error')
  return { blocks, end, failure }
}
