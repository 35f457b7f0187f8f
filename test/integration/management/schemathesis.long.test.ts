import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EVENT_STREAM } from '../../../src/shared/api/operation.ts'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'
import type { OperationName } from '../../../src/shared/api/operations/index.ts'
import { dose } from '../../support/dose.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { cannotRunClients, installFromPypi, runClient } from '../../support/installed-client.ts'
import { MailServer } from '../../support/mail-server.ts'
import { ManagementClient } from '../../support/management-client.ts'
import { TEST_SEED } from '../../support/seed.ts'

// Schemathesis reads the document of the gateway and calls every operation of management, with data that fit it and data that do not.

const PACKAGES = ['schemathesis==4.32.5']
const SECONDS = dose('SLUICE_TEST_SCHEMATHESIS_S', { short: 30, long: 60 })
const NETWORK = fileURLToPath(new URL('../../support/closed-network.mjs', import.meta.url))
const HOOKS = fileURLToPath(new URL('../../support/python', import.meta.url))

/** They end the session with which all others are called, like changes of its own account, which the hooks prevent. */
const ENDS_THE_SESSION: readonly OperationName[] = ['logout', 'changePassword', 'endSession']
/** They ask tool servers that are not there, and answer 503 for them. */
const ASKS_ELSEWHERE: readonly OperationName[] = ['adminRefreshToolServer']
/** Operations whose answers go on until the client leaves: no answer of them is ever whole. */
const STREAMS = Object.entries(OPERATIONS).flatMap(([name, { answer }]: [string, OperationSpec]) =>
  answer.media === EVENT_STREAM ? [name] : [],
)
/** Each has an option of its own: of options with regular expressions, Schemathesis leaves out only what all of them match. */
const LEFT_OUT = [...ENDS_THE_SESSION, ...ASKS_ELSEWHERE, ...STREAMS].flatMap((name) => [
  '--exclude-operation-id',
  name,
])
/** It expects success where the schema fits. Rules between fields, rows that must exist and If-Match are beyond a schema. */
const BEYOND_A_SCHEMA = 'positive_data_acceptance'

let gateway: TestGateway
let mail: MailServer
let directory: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-schemathesis-'))
  // Upstreams and webhooks of made-up hosts are called: only this machine is let through.
  const network = join(directory, 'network.json')
  writeFileSync(network, JSON.stringify({ names: {}, here: [], log: join(directory, 'network.log') }))
  mail = await MailServer.start()
  const config = { mail: mail.config, auth: { console_url: 'http://localhost:3000' } }
  gateway = await startGateway({ config, env: { SLUICE_TEST_NETWORK: network, NODE_OPTIONS: `--import ${NETWORK}` } })
})
afterAll(async () => {
  await gateway.stop()
  await mail.stop()
  rmSync(directory, { recursive: true, force: true })
})

it(
  'finds no server error, no status and no answer that the document does not tell of',
  { timeout: 600_000 + SECONDS * 2_000 },
  async ({ skip }) => {
    const missing = await cannotRunClients()
    if (missing !== null) return skip(missing)
    const installed = await installFromPypi(PACKAGES)
    if ('missing' in installed) return skip(`cannot be installed here: ${installed.missing}`)
    const client = await ManagementClient.ofAdmin(gateway)
    const { json: own } = await client.expect('me', 200)
    const env = {
      PYTHONPATH: HOOKS,
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
      OWN_USER_ID: String(own['id']),
    }
    const { code, output } = await runClient(
      [
        join(installed.directory, 'bin', 'python'),
        ...['-m', 'schemathesis.cli', '--no-color', 'run', `${gateway.url}/openapi.json`],
        ...[
          '--header',
          `Authorization: Bearer ${client.token ?? ''}`,
          '--max-time',
          String(SECONDS),
          '--seed',
          String(TEST_SEED),
        ],
        ...['--exclude-tag', 'Models', ...LEFT_OUT, '--exclude-checks', BEYOND_A_SCHEMA],
        ...['--continue-on-failure', '--request-timeout', '30', '--warnings', 'off'],
        ...['--suppress-health-check', 'all', '--generation-database', 'none'],
      ],
      { cwd: directory, home: directory, env, port: gateway.port, timeoutMs: 300_000 + SECONDS * 1_500 },
    )
    expect(code, output).toBe(0)
    const tested = Number(/Tested: (\d+)/.exec(output)?.[1])
    // A busy machine reaches some operations in this time, a quiet one all of them.
    expect(tested, output).toBeGreaterThan(30)
    expect(Number(/(\d+) generated/.exec(output)?.[1]), output).toBeGreaterThan(tested)
    // The session has held, so that all of this came from handlers.
    await client.expect('me', 200)
  },
)
