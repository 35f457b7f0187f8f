import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { jsonOf } from '../../support/cli-commands.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { copyMadeDatabase } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const root = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
const dataDir = join(root, 'data')
let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator()
})
afterAll(async () => {
  await simulator.close()
  rmSync(root, { recursive: true, force: true })
})

interface Finding {
  readonly check: string
  readonly status: string
  readonly says: string
}

async function findings(args: readonly string[] = []): Promise<Finding[]> {
  const said = await sluice(['doctor', '--json', '--config', join(root, 'sluice.yaml'), ...args], { cwd: root })
  return jsonOf(said)['findings'] as unknown as Finding[]
}

it('examines the upstreams that were added through the management plane', async () => {
  copyMadeDatabase(dataDir)
  const config = { management: { private_upstreams: ['127.0.0.1'] } }
  const gateway = await startGateway({ dataDir, config })
  const file = JSON.parse(readFileSync(join(dataDir, 'test-config.yaml'), 'utf8')) as object
  writeFileSync(join(root, 'sluice.yaml'), JSON.stringify({ ...file, data_dir: dataDir }))
  const admin = await ManagementClient.ofAdmin(gateway)
  const upstream = (id: string, more: object = {}): object => ({
    id,
    dialect: 'openai-chat',
    base_url: `${simulator.origin}/v1`,
    models: [`model-of-${id}`],
    keys: [{ id: `${id}-1`, name: `${id}-1`, credential: id }],
    ...more,
  })
  for (const body of [upstream('works'), upstream('refused'), upstream('off', { enabled: false })]) {
    await admin.expect('adminCreateUpstream', 201, { body })
  }
  const beside = await findings()
  expect(beside.find(({ check }) => check === 'stored upstreams')).toMatchObject({ status: 'skipped' })
  await gateway.stop()

  simulator.configureKey('refused', { status: 401 })
  const found = await findings()
  const of = (check: string): string | undefined => found.find((one) => one.check === check)?.status
  expect({
    works: of('upstream works'),
    worksKey: of('upstream works, key works-1'),
    refusedKey: of('upstream refused, key refused-1'),
    off: of('upstream off'),
  }).toEqual({ works: 'ok', worksKey: 'ok', refusedKey: 'failed', off: 'skipped' })

  const spent = await findings(['--spend'])
  expect(spent.find(({ check }) => check === 'upstream works, key works-1')?.says).toBe('model-of-works answers')

  // The addresses of this machine are not allowed any more.
  writeFileSync(join(root, 'sluice.yaml'), JSON.stringify({ data_dir: dataDir }))
  const invalid = (await findings()).filter(({ check }) => check === 'upstream works')
  expect(invalid).toMatchObject([{ status: 'failed', says: expect.stringContaining('private_upstreams') as string }])
})
