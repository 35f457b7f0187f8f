import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LiveLog } from '../../../src/control/management/live-log.ts'
import { LiveStream } from '../../../src/control/management/live-stream.ts'
import type { LiveRequest } from '../../../src/control/management/live-stream.ts'
import { RecentRows } from '../../../src/control/management/recent-rows.ts'
import type { Queryable } from '../../../src/control/store/database.ts'
import type { RequestLogRow } from '../../../src/control/store/request-log.ts'
import { GatewayError } from '../../../src/shared/core/errors.ts'
import { systemClock } from '../../../src/shared/runtime/clock.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A log without tables. */
class EmptyLog implements Queryable {
  reads = 0
  isDown = false

  query<Row>(): Promise<Row[]> {
    this.reads += 1
    return this.isDown ? Promise.reject(new Error('connection refused')) : Promise.resolve([])
  }
  script(): Promise<void> {
    return Promise.resolve()
  }
  copyIn(): Promise<void> {
    return Promise.resolve()
  }
}

function requestOf(changes: Partial<LiveRequest> = {}): LiveRequest {
  return {
    userId: 'u',
    isPlatformAdmin: false,
    select: () => Promise.resolve({ scope: { kind: 'user', userId: 'u', memberIds: [] }, filter: {} }),
    render: ({ id }) => ({ id }),
    load: null,
    lastEventId: null,
    signal: new AbortController().signal,
    ...changes,
  }
}

const rowsOf = (userId: string, count: number): RequestLogRow[] =>
  Array.from({ length: count }, (_, at) => ({ id: `${userId}-${at}`, userId }) as RequestLogRow)

async function next(events: AsyncGenerator<Buffer>): Promise<string> {
  const { value } = (await events.next()) as { value: Buffer | undefined }
  return String(value)
}

describe('the live log', () => {
  it('reads nothing while nobody watches', async () => {
    const log = new EmptyLog()
    const live = new LiveLog(log, systemClock, vi.fn())
    await vi.advanceTimersByTimeAsync(60_000)
    expect(log.reads).toBe(0)
    const leaving = new AbortController()
    await live.open(requestOf({ signal: leaving.signal }))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(log.reads).toBe(21)
    leaving.abort()
    await vi.advanceTimersByTimeAsync(500)
    const { reads } = log
    await vi.advanceTimersByTimeAsync(60_000)
    expect([log.reads, vi.getTimerCount()]).toEqual([reads, 0])
  })

  it('has four streams for a user and 64 in all, 16 of them for platform admins', async () => {
    const live = new LiveLog(new EmptyLog(), systemClock, vi.fn())
    const clients = Array.from({ length: 48 }, () => new AbortController())
    for (const [at, { signal }] of clients.entries()) await live.open(requestOf({ userId: `u-${at >> 2}`, signal }))
    await expect(live.open(requestOf({ userId: 'u-0' }))).rejects.toThrow('You have 4 live streams')
    await expect(live.open(requestOf({ userId: 'u-12' }))).rejects.toMatchObject({ code: 'CONCURRENCY_EXCEEDED' })
    for (let at = 0; at < 16; at++) await live.open(requestOf({ userId: `a-${at}`, isPlatformAdmin: true }))
    await expect(live.open(requestOf({ userId: 'a', isPlatformAdmin: true }))).rejects.toThrow('too many live streams')
    for (const client of clients.slice(0, 17)) client.abort()
    await live.open(requestOf({ userId: 'u-12' }))
    await live.close()
  })

  it('does not count a stream whose client has left before, or may not have it', async () => {
    const live = new LiveLog(new EmptyLog(), systemClock, vi.fn())
    const select = (): Promise<never> => Promise.reject(new GatewayError('ROLE_DENIED'))
    for (let at = 0; at < 5; at++) {
      await expect(live.open(requestOf({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
        code: 'CLIENT_CLOSED',
      })
      await expect(live.open(requestOf({ select }))).rejects.toMatchObject({ code: 'ROLE_DENIED' })
    }
    await live.open(requestOf())
    await live.close()
  })

  it('reports an outage of the database once, and ends streams whose rights it cannot read', async () => {
    const log = new EmptyLog()
    const onFault = vi.fn()
    const live = new LiveLog(log, systemClock, onFault)
    const select = async (): Promise<Awaited<ReturnType<LiveRequest['select']>>> => {
      await log.query()
      return { scope: { kind: 'everyone' }, filter: {} }
    }
    const events = await live.open(requestOf({ select }))
    expect(await next(events)).toContain('event: ready')
    log.isDown = true
    await vi.advanceTimersByTimeAsync(8_000)
    log.isDown = false
    await vi.advanceTimersByTimeAsync(8_000)
    expect(onFault).toHaveBeenCalledTimes(1)
    log.isDown = true
    await vi.advanceTimersByTimeAsync(20_000)
    expect(onFault).toHaveBeenCalledTimes(2)
    expect(await next(events)).toContain('"code":"CONTROL_UNAVAILABLE"')
    expect((await events.next()).done).toBe(true)
    await live.close()
  })

  it('does not read after its end, and its end waits for the read under way', async () => {
    const log = new EmptyLog()
    const onFault = vi.fn()
    const live = new LiveLog(log, systemClock, onFault)
    await live.open(requestOf())
    await live.close()
    const { reads } = log
    await vi.advanceTimersByTimeAsync(10_000)
    expect(log.reads).toBe(reads)

    const slow = new EmptyLog()
    const other = new LiveLog(slow, systemClock, onFault)
    await other.open(requestOf())
    let answer: () => void = () => undefined
    slow.query = () =>
      new Promise(
        (resolve) =>
          (answer = () => {
            resolve([])
          }),
      )
    await vi.advanceTimersByTimeAsync(500)
    const onClosed = vi.fn()
    const closed = other.close().then(onClosed)
    await vi.advanceTimersByTimeAsync(500)
    expect(onClosed).not.toHaveBeenCalled()
    answer()
    await closed
    expect(onFault).not.toHaveBeenCalled()
  })

  it('waits at its end for the first read of a stream, and begins none for one whose rights come later', async () => {
    const log = new EmptyLog()
    const live = new LiveLog(log, systemClock, vi.fn())
    let answer: (rows: never[]) => void = () => undefined
    const rows = new Promise<never[]>((resolve) => (answer = resolve))
    log.query = () => rows
    const opened = live.open(requestOf())
    await vi.advanceTimersByTimeAsync(0)
    const onClosed = vi.fn()
    const closed = live.close().then(onClosed)
    await vi.advanceTimersByTimeAsync(0)
    expect(onClosed).not.toHaveBeenCalled()
    answer([])
    await Promise.all([closed, opened])

    const other = new EmptyLog()
    const late = new LiveLog(other, systemClock, vi.fn())
    const refused = expect(late.open(requestOf())).rejects.toMatchObject({ code: 'CONTROL_UNAVAILABLE' })
    await late.close()
    await refused
    expect(other.reads).toBe(0)
  })

  it('says so at its end, also to streams that begin then', async () => {
    const live = new LiveLog(new EmptyLog(), systemClock, vi.fn())
    const events = await live.open(requestOf())
    await next(events)
    await live.close()
    expect(await next(events)).toContain('event: end')
    await expect(live.open(requestOf())).rejects.toMatchObject({ code: 'CONTROL_UNAVAILABLE' })
  })
})

describe('a live stream', () => {
  it('keeps fifty rows for a slow client and counts the others', async () => {
    const recent = new RecentRows()
    const stream = new LiveStream(requestOf())
    await stream.check(0)
    const events = stream.events(recent, stream.begin(recent))
    await next(events)
    for (let read = 0; read < 100; read++) {
      recent.add({ rows: [...rowsOf('u', 60), ...rowsOf('other', 60)], omitted: 0 })
      stream.take(recent)
    }
    const text = await next(events)
    expect(text).toContain('"omitted":5950,"incomplete":false')
    expect(text.match(/"id":"u-/g)).toHaveLength(50)
    expect(text).not.toContain('other')
  })

  it('says when rows were not looked at under its filter', async () => {
    const recent = new RecentRows()
    const stream = new LiveStream(requestOf())
    await stream.check(0)
    const events = stream.events(recent, stream.begin(recent))
    await next(events)
    recent.add({ rows: rowsOf('other', 10), omitted: 7 })
    stream.take(recent)
    expect(await next(events)).toContain('{"data":[],"omitted":0,"incomplete":true}')
  })

  it('gives no row while its rights are unknown, and all of them afterwards', async () => {
    let isDown = false
    const select = (): ReturnType<LiveRequest['select']> =>
      isDown ? Promise.reject(new Error('down')) : requestOf().select()
    const recent = new RecentRows()
    const stream = new LiveStream(requestOf({ select }))
    await stream.check(0)
    const events = stream.events(recent, stream.begin(recent))
    await next(events)
    isDown = true
    await expect(stream.check(2_000)).rejects.toThrow('down')
    recent.add({ rows: rowsOf('u', 1), omitted: 0 })
    stream.take(recent)
    const text = next(events)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await text).toMatch(/^: nothing new\nid: [0-9a-f]{16}-0\n\n$/)
    isDown = false
    await stream.check(17_000)
    stream.take(recent)
    expect(await next(events)).toContain('"data":[{"id":"u-0"}]')
  })
})

describe('recent rows', () => {
  it('are kept up to a bound, and places before it are not known any more', () => {
    const recent = new RecentRows()
    const first = recent.idOf(recent.place)
    recent.add({ rows: rowsOf('u', 2_000), omitted: 0 })
    const second = recent.idOf(recent.place)
    recent.add({ rows: rowsOf('u', 2_000), omitted: 0 })
    expect(recent.placeOf(first)).toBe(0)
    recent.add({ rows: rowsOf('u', 2_000), omitted: 3 })
    expect([recent.placeOf(first), recent.placeOf(second)]).toEqual([null, 1])
    expect(recent.after(0).isComplete).toBe(false)
    expect(recent.after(1).reads.map(({ rows }) => rows.length)).toEqual([2_000, 2_000])
  })

  it('are those of one process: ids of others, and of the future, are not known', () => {
    const recent = new RecentRows()
    for (const id of [
      '',
      'x',
      new RecentRows().idOf(0),
      `${recent.idOf(0)}1`,
      `${recent.idOf(0)} `,
      `-${recent.idOf(0)}`,
    ])
      expect(recent.placeOf(id)).toBeNull()
  })
})
