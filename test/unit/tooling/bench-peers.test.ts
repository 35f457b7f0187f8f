import { describe, expect, it } from 'vitest'
import { plotOf } from '../../../bench/peers/plot.ts'
import { summarise, tableOf } from '../../../bench/peers/results.ts'
import { scenarios } from '../../../bench/peers/scenarios.ts'

const [, alone] = scenarios({ seconds: 1, streams: 1 }, () => 0)
const P50 = 'added p50 ms, 1 connection'

function summary(): ReturnType<typeof summarise> {
  if (alone === undefined) throw new Error('there is no second scenario')
  return summarise(alone, [
    { upstream: { p50Ms: 1 }, nginx: { p50Ms: 1.5, cpuUs: 20 }, broken: {} },
    { upstream: { p50Ms: 2 }, nginx: { p50Ms: 2.1, cpuUs: 22 }, broken: {} },
    { upstream: { p50Ms: 1 }, nginx: { p50Ms: 1.3, cpuUs: 1200 }, broken: {} },
  ])
}

describe('the result of the peers', () => {
  it('subtracts the latency of the upstream in the same round', () => {
    expect(summary()[P50]).toEqual({ nginx: { median: 0.3, min: 0.1, max: 0.5, rounds: [0.5, 0.1, 0.3] } })
  })

  it('shows the median with the least and the most, and a dash where a program has no figure', () => {
    const [head, , cpu, p50] = tableOf(summary(), ['nginx', 'broken']).split('\n')
    expect(head).toMatch(/^\| +\| +nginx \| broken \|$/)
    expect(cpu).toMatch(/^\| CPU µs per request, 1 connection +\| +22 \(20–1 200\) \| +– \|$/)
    expect(p50).toContain('0.30 (0.10–0.50)')
  })

  it('is drawn without the upstream', () => {
    const of = (median: number): object => ({ median, min: median, max: median * 2, rounds: [median] })
    const figure = { upstream: of(9), nginx: of(10), sluice: of(40), 'a <b>': of(90) }
    const svg = plotOf({ 'CPU µs per request, 64 connections': figure } as Parameters<typeof plotOf>[0], 'on a machine')
    expect(svg.match(/<path /g)).toHaveLength(3)
    expect(svg).toContain('a &#60;b')
    expect(svg).not.toContain('upstream')
    expect(svg).not.toContain('NaN')
  })
})
