import { describe, expect, it } from 'vitest'
import { EventBytes, EventLog } from '../../../src/control/mcp/event-log.ts'

type Message = Parameters<EventLog['storeEvent']>[1]

const told = (text: string): Message => ({ jsonrpc: '2.0', method: 'notifications/message', params: { text } })

async function replayed(log: EventLog, lastId: string): Promise<string[]> {
  const ids: string[] = []
  await log.replayEventsAfter(lastId, {
    send: (id) => {
      ids.push(id)
      return Promise.resolve()
    },
  })
  return ids
}

describe('the log of events', () => {
  it('replays what came after an event on its stream, and nothing of other streams', async () => {
    const log = new EventLog(new EventBytes(1e6))
    const opening = await log.storeEvent('a', {} as Message)
    await log.storeEvent('b', told('other'))
    const first = await log.storeEvent('a', told('first'))
    const second = await log.storeEvent('a', told('second'))
    expect(await log.getStreamIdForEventId(first)).toBe('a')
    expect(await replayed(log, opening)).toEqual([first, second])
    expect(await replayed(log, second)).toEqual([])
  })

  it('forgets the oldest events above its bounds, and never the newest', async () => {
    const all = new EventBytes(3_000)
    const log = new EventLog(all)
    const first = await log.storeEvent('a', told('x'))
    for (let count = 0; count < 300; count++) await log.storeEvent('a', told('y'))
    expect(await log.getStreamIdForEventId(first)).toBeUndefined()
    expect(all.used).toBeLessThanOrEqual(all.max)
    const large = await log.storeEvent('a', told('z'.repeat(5_000)))
    expect(await log.getStreamIdForEventId(large)).toBe('a')
    await expect(replayed(log, first)).rejects.toThrow('not kept')
    log.clear()
    expect(all.used).toBe(0)
  })

  it('forgets events that are old', async () => {
    const log = new EventLog(new EventBytes(1e6))
    const id = await log.storeEvent('a', told('x'))
    log.sweep(performance.now())
    expect(await log.getStreamIdForEventId(id)).toBe('a')
    log.sweep(performance.now() + 300_001)
    expect(await log.getStreamIdForEventId(id)).toBeUndefined()
  })
})
