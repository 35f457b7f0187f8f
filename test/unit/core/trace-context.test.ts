import { describe, expect, it } from 'vitest'
import { traceOf, traceparentOf } from '../../../src/shared/core/trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('a trace that is taken over', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, '01'],
    [`00-${TRACE}-${SPAN}-00`, '00'],
    [` 00-${TRACE}-${SPAN}-01\t`, '01'],
    // Bits without a meaning are not passed on; `random` has one in the second edition.
    [`00-${TRACE}-${SPAN}-ff`, '03'],
    [`00-${TRACE}-${SPAN}-08`, '00'],
    // Versions to come may say more behind a dash.
    [`01-${TRACE}-${SPAN}-01`, '01'],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-holds`, '01'],
    [`fe-${TRACE}-${SPAN}-01-`, '01'],
  ])('%j', (traceparent, flags) => {
    expect(traceOf(traceparent, undefined)).toEqual({ traceId: TRACE, flags, state: null })
  })

  it('goes on with a span of our own for each call', () => {
    const trace = traceOf(`01-${TRACE}-${SPAN}-01-more`, undefined)
    const spans = Array.from({ length: 1_000 }, () => {
      const [, span] = new RegExp(`^00-${TRACE}-([0-9a-f]{16})-01$`).exec(traceparentOf(trace)) ?? []
      return span
    })
    expect(new Set([...spans, SPAN]).size).toBe(1_001)
    expect(spans).not.toContain(undefined)
  })
})

describe('a trace that is begun anew, without its state', () => {
  it.each([
    undefined,
    '',
    'garbage',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-0g`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.`,
    `01-${TRACE}-${SPAN}-01.more`,
    `0-${TRACE}-${SPAN}-01`,
    // Sent twice.
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])('%j', (traceparent) => {
    const trace = traceOf(traceparent, 'a=1')
    expect(trace).toEqual({ traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string, flags: '00', state: null })
    expect(trace.traceId).not.toBe(TRACE)
    expect(trace.traceId).not.toBe('0'.repeat(32))
  })
})

describe('the state of a trace', () => {
  const stateOf = (tracestate: string): string | null => traceOf(`00-${TRACE}-${SPAN}-01`, tracestate).state

  it.each([
    ['a=1', 'a=1'],
    ['congo=t61rcWkgMzE,rojo=00f067aa0ba902b7', 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'],
    ['a=1 , \tb=2', 'a=1,b=2'],
    ['a=1,,b=2,', 'a=1,b=2'],
    ['tenant@system=x', 'tenant@system=x'],
    ['a=spaces in between', 'a=spaces in between'],
    ['', null],
    ['a', null],
    ['A=1', null],
    ['a=1,a=2', null],
    ['a=x=y', null],
    ['a=\u00e9', null],
    [Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(','), null],
    [
      Array.from({ length: 32 }, (_, i) => `k${i}=1`).join(','),
      Array.from({ length: 32 }, (_, i) => `k${i}=1`).join(','),
    ],
  ])('%j is passed on as %j', (tracestate, passedOn) => {
    expect(stateOf(tracestate)).toBe(passedOn)
  })

  it('is cut to 512 characters, long members first, then the last ones', () => {
    const member = (key: string, length: number): string => `${key}=`.padEnd(length, 'x')
    const [short, long, medium] = [member('a', 100), member('b', 200), member('c', 128)]
    expect(stateOf([short, long, medium, member('d', 128), member('e', 128)].join(','))).toBe(
      [short, medium, member('d', 128), member('e', 128)].join(','),
    )
    expect(stateOf(['a', 'b', 'c', 'd', 'e'].map((key) => member(key, 128)).join(','))?.length).toBe(3 * 128 + 2)
  })
})
