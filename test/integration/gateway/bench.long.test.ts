import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { BenchResult } from '../../../src/cli/bench/result.ts'
import { sluice } from '../../support/sluice.ts'

it('runs every scenario in a laboratory of its own', { timeout: 200_000 }, async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-bench-test-'))
  try {
    const said = await sluice(
      ['bench', '--seconds', '1', '--connections', '4', '--json', 'result.json', '--html', 'result.html'],
      { cwd, env: { TMPDIR: cwd } },
    )
    expect(said.code, said.stdout + said.stderr).toBe(0)
    const { scenarios, memory } = JSON.parse(readFileSync(join(cwd, 'result.json'), 'utf8')) as BenchResult
    expect(scenarios.map(({ status }) => status)).toEqual(scenarios.map(() => 'passed'))
    expect(memory.length).toBeGreaterThan(5)
    for (const { name, cpu } of scenarios) if (name !== 'affinity') expect(cpu?.perRequestUs, name).toBeGreaterThan(0)
    const policies = scenarios.find(({ name }) => name === 'affinity')?.policies ?? []
    expect(policies.map(({ name }) => name)).toEqual(['sluice', 'random', 'round-robin', 'sticky'])
    for (const { hitRate } of policies) expect(hitRate).toBeGreaterThan(0)
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
})
