import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { benchPeers, isWhole } from '../../../bench/peers/bench.ts'
import type { Report } from '../../../bench/peers/bench.ts'
import { scenarios } from '../../../bench/peers/scenarios.ts'

it('measures every figure of Sluice, and leaves out a peer that is not installed', { timeout: 180_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-peers-test-'))
  try {
    const doses = { seconds: 1, streams: 50 }
    const out = join(dir, 'peers.json')
    const report = await benchPeers({
      ...doses,
      only: [''],
      peers: ['sluice', 'portkey', 'litellm'],
      rounds: 1,
      warmUp: 1,
      dir,
      out,
    })
    expect(Object.keys(report.versions)).toEqual(['upstream', 'sluice'])
    const titles = scenarios(doses, () => 0).flatMap(({ figures }) => figures.map(({ title }) => title))
    for (const title of titles) expect(report.results[title]?.['sluice']?.median, title).toEqual(expect.any(Number))
    expect(report.results['CPU µs per request, 64 connections']?.['sluice']?.median).toBeGreaterThan(0)
    expect(report.results['of 50 streams, sustained']?.['sluice']?.median).toBe(50)
    expect(isWhole(report), JSON.stringify(report.failed)).toBe(true)
    expect((JSON.parse(readFileSync(out, 'utf8')) as Report).results).toEqual(report.results)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
