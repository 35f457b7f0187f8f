import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NOUNS } from '../../../src/shared/api/nouns.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { cannotRunClients, installFromPypi, runClient } from '../../support/installed-client.ts'
import { ManagementClient } from '../../support/management-client.ts'

// The client that openapi-python-client generates from the document of the gateway.

const PACKAGES = ['openapi-python-client==0.29.1']
const PROGRAM = fileURLToPath(new URL('../../support/python/generated_client.py', import.meta.url))
const PATIENCE = { timeout: 600_000 }

let gateway: TestGateway
let directory: string
beforeAll(async () => {
  gateway = await startGateway()
  directory = mkdtempSync(join(tmpdir(), 'sluice-python-client-'))
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await gateway.stop()
})

it('has one class for each noun, and makes calls', PATIENCE, async ({ skip }) => {
  const missing = await cannotRunClients()
  if (missing !== null) return skip(missing)
  const installed = await installFromPypi(PACKAGES)
  if ('missing' in installed) return skip(`cannot be installed here: ${installed.missing}`)
  const python = join(installed.directory, 'bin', 'python')
  const options = { cwd: directory, home: directory, env: {}, port: gateway.port }
  // The generator would format the client with another program.
  writeFileSync(join(directory, 'config.yaml'), 'post_hooks: []\n')
  const document = ['--url', `${gateway.url}/openapi.json`, '--config', 'config.yaml']
  const output = ['--meta', 'none', '--output-path', 'sluice_client']
  const generated = await runClient(
    [python, '-m', 'openapi_python_client', 'generate', ...document, ...output],
    options,
  )
  expect(generated.code, generated.output).toBe(0)
  // It makes nothing of media types besides JSON, text and octet-stream.
  const problems = generated.output.split('\n').filter((line) => /^(WARNING|ERROR|Unable|Cannot)/.test(line))
  expect(problems.map((line) => line.replace(/<.+?> /, ''))).toEqual([
    'WARNING parsing GET /v1/video/generations/{id}/content within models.',
    'Cannot parse response for status code (Unsupported content_type video/mp4), response will be omitted from generated client',
  ])

  const { token } = await ManagementClient.ofAdmin(gateway)
  const command = [python, PROGRAM, directory, gateway.url, token ?? '', ...NOUNS.values()] as const
  const called = await runClient(command, options)
  expect(called.code, called.output).toBe(0)
  const { names, ...rest } = JSON.parse(called.output) as { names: string[] }
  expect(names).toContain('generated')
  expect(rest).toEqual({
    missing: [],
    numbered: [],
    copies: [],
    made: ['NewKey', true],
    listed: ['Key'],
    enterprise: ['Enterprise', 'Enterprise', 'Generated', 'Spend'],
    refused: ['Error', 'NOT_FOUND'],
  })
})
