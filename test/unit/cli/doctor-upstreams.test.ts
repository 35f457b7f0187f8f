import { expect, it } from 'vitest'
import { upstreamChecks } from '../../../src/cli/doctor/upstreams.ts'
import type { UpstreamReport } from '../../../src/cli/doctor/upstreams.ts'
import type { Config } from '../../../src/shared/config/shape.ts'
import { read } from '../config/load.ts'

/** Examines an upstream that an admin has added. Nothing listens at its port. */
async function examine(host: string, addresses: readonly string[], allowed: string): Promise<UpstreamReport> {
  const config: Config = read({
    yaml: `
management: {private_upstreams: [${allowed}]}
upstreams: [{id: u, dialect: openai-chat, base_url: "https://${host}:1/v1", models: [m], keys: [{credential: secret}]}]
`,
  })
  const stored = config.upstreams.map((upstream) => ({ ...upstream, publicOnly: true }))
  const [check] = upstreamChecks(config, stored, { spend: false, addressesOf: () => Promise.resolve(addresses) })
  if (check === undefined) throw new Error('there is no check')
  return check()
}

it('does not call a stored upstream whose name leads into the network of the operator', async () => {
  const { findings } = await examine('evil.example', ['93.184.216.34', '10.0.0.7'], '')
  expect(findings).toEqual([
    {
      check: 'upstream u',
      status: 'failed',
      says: 'its host resolves to 10.0.0.7, which is not on the public Internet',
      fix: 'correct base_url, or list the host in management.private_upstreams',
    },
  ])
})

it('calls it where the operator has listed the address', async () => {
  const { findings } = await examine('127.0.0.1', ['127.0.0.1'], '127.0.0.0/8')
  expect(findings).toMatchObject([{ status: 'failed', says: expect.stringContaining('cannot be reached') as string }])
})
