import { describe, expect, it } from 'vitest'
import {
  AwsFrameError,
  AwsFrameSplitter,
  readAwsFrame,
  writeAwsFrame,
} from '../../../src/shared/wire/aws-event-stream.ts'
import fc from '../../support/fast-check.ts'
import { loadCloudFixtures } from '../../support/recorded-fixtures.ts'

const HEADERS = { ':event-type': 'messageStop', ':content-type': 'application/json', ':message-type': 'event' }

function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const splitter = new AwsFrameSplitter()
  const frames: Buffer[] = []
  const keep = (bytes: Buffer, start: number, end: number): void => void frames.push(bytes.subarray(start, end))
  for (const chunk of chunks) splitter.split(chunk, keep)
  splitter.finish(keep)
  return frames
}

describe('frames of an AWS event stream', () => {
  const recorded = loadCloudFixtures().filter(({ format }) => format === 'eventstream')

  it.each(recorded.map((fixture) => [fixture.id, fixture] as const))(
    'of %s are what was recorded, however it is cut',
    (_id, fixture) => {
      const whole = framesOf([fixture.response])
      const read = whole.map((frame) => {
        const { type, payload } = readAwsFrame(frame, 0, frame.length) ?? {}
        return { type, payload: JSON.parse(String(payload)) as unknown }
      })
      expect(read).toEqual(fixture.decoded.map(({ headers, payload }) => ({ type: headers[':event-type'], payload })))
      expect(framesOf([...fixture.response].map((byte) => Buffer.from([byte])))).toEqual(whole)
    },
  )

  it('are found wherever the chunks are cut', () => {
    const frames = [
      writeAwsFrame(HEADERS, '{"stopReason":"end_turn"}'),
      writeAwsFrame({}, ''),
      writeAwsFrame(HEADERS, 'é'),
    ]
    const bytes = Buffer.concat(frames)
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: bytes.length })), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end))
        expect(framesOf(chunks)).toEqual(frames)
      }),
    )
  })

  it('are not read when a byte was changed', () => {
    const frame = writeAwsFrame(HEADERS, '{"stopReason":"end_turn"}')
    for (let at = 0; at < frame.length; at++) {
      const changed = Buffer.from(frame)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(readAwsFrame(changed, 0, changed.length)).toBeNull()
    }
  })

  it('have headers of all types', () => {
    const frame = writeAwsFrame({ ':message-type': 'exception', ':exception-type': 'throttlingException' }, '{}')
    expect(readAwsFrame(frame, 0, frame.length)).toMatchObject({
      messageType: 'exception',
      type: 'throttlingException',
    })
    const error = writeAwsFrame(
      { ':message-type': 'error', ':error-code': 'InternalError', ':error-message': 'no' },
      '',
    )
    expect(readAwsFrame(error, 0, error.length)).toMatchObject({ type: 'InternalError', message: 'no' })
  })

  it('are refused when their length cannot be trusted', () => {
    const frame = writeAwsFrame(HEADERS, 'x'.repeat(100))
    const none = (): void => undefined
    expect(() => new AwsFrameSplitter(64).split(frame, none)).toThrow(AwsFrameError)
    expect(() => new AwsFrameSplitter().split(Buffer.from('{"message":"no stream at all"}'), none)).toThrow(
      AwsFrameError,
    )
  })

  it('that break off are handed out at the end, and are no frames', () => {
    const frame = writeAwsFrame(HEADERS, '{}')
    const [broken] = framesOf([frame.subarray(0, frame.length - 1)])
    expect(broken).toHaveLength(frame.length - 1)
    expect(broken && readAwsFrame(broken, 0, broken.length)).toBeNull()
  })

  it('are not handed out any more once the listener wants none', () => {
    const frame = writeAwsFrame(HEADERS, '{}')
    let count = 0
    expect(new AwsFrameSplitter().split(Buffer.concat([frame, frame]), () => ++count < 1)).toBe(false)
    expect(count).toBe(1)
  })
})
