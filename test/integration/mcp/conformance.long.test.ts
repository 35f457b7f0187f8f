import { createServer, request as httpRequest } from 'node:http'
import type { Server } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestContext } from 'vitest'
import { ManagementListener } from '../../../src/control/lifecycle/management-listener.ts'
import type { McpService } from '../../../src/control/mcp/mcp-service.ts'
import { freePort } from '../../support/free-port.ts'
import { cannotRunClients, installFromNpm, runClient } from '../../support/installed-client.ts'
import { ConformanceTools, serviceWith } from '../../support/mcp-fixtures.ts'
import { McpWorld } from '../../support/mcp-world.ts'

// The conformance suite of the protocol, as npm has it, against /mcp.

const PACKAGE = '@modelcontextprotocol/conformance'
/** The newest that runs on Node 20. */
const VERSION = '0.1.13'
const EXPECTED = fileURLToPath(new URL('../../fixtures/mcp/conformance-expected-failures.yml', import.meta.url))
/** They call tools that only the suite's own servers have: a gateway fails them, a server with these tools passes. */
const NEED_FIXTURE_TOOLS = [
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
]
const PATIENCE = { timeout: 400_000 }

/** Runs the suite. Returns its output when it found something that was not expected. */
async function findings(context: TestContext, port: number, expected: readonly string[]): Promise<string> {
  const missing = await cannotRunClients()
  const installed = await installFromNpm([`${PACKAGE}@${VERSION}`])
  const reason = missing ?? ('missing' in installed ? installed.missing : null)
  if (reason !== null || 'missing' in installed) return context.skip(reason ?? 'not installed')
  const home = mkdtempSync(join(tmpdir(), 'sluice-conformance-'))
  const baseline = join(home, 'expected.yml')
  writeFileSync(baseline, readFileSync(EXPECTED, 'utf8') + expected.map((name) => `  - ${name}\n`).join(''))
  const program = join(installed.directory, 'node_modules', PACKAGE, 'dist', 'index.js')
  const url = `http://127.0.0.1:${port}/mcp`
  const { code, output } = await runClient(
    [process.execPath, program, 'server', '--url', url, '--suite', 'active', '--expected-failures', baseline],
    { cwd: home, home, env: {}, port },
  )
  rmSync(home, { recursive: true, force: true })
  return code === 0 ? '' : output
}

describe('the conformance suite, against a gateway', () => {
  let world: McpWorld
  let proxy: Server

  beforeAll(async () => {
    world = await McpWorld.start()
    const { token } = await world.user()
    // The suite knows no tokens.
    proxy = createServer((incoming, outgoing) => {
      const { method, headers, url: path = '/' } = incoming
      const to = { host: '127.0.0.1', port: world.gateway.port, path, method }
      const sent = httpRequest({ ...to, headers: { ...headers, authorization: `Bearer ${token}` } }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        outgoing.flushHeaders()
        answer.pipe(outgoing)
      })
      sent.on('error', () => outgoing.destroy())
      outgoing.on('close', () => sent.destroy())
      incoming.pipe(sent)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
  }, 120_000)

  afterAll(async () => {
    proxy.close()
    proxy.closeAllConnections()
    await world.gateway.stop()
  })

  it('finds nothing but what is listed with its reason', PATIENCE, async (context) => {
    const { port } = proxy.address() as AddressInfo
    expect(await findings(context, port, NEED_FIXTURE_TOOLS)).toBe('')
  })
})

describe('the conformance suite, against the tool server with the tools of the suite', () => {
  const faults: unknown[] = []
  let service: McpService
  let listener: ManagementListener
  let port: number

  beforeAll(async () => {
    const onFault = (cause: unknown): void => {
      faults.push(cause)
    }
    port = await freePort()
    service = serviceWith(new ConformanceTools(), onFault)
    listener = new ManagementListener({
      host: '127.0.0.1',
      port,
      maxBodyBytes: 4 * 1024 * 1024,
      bodyTimeoutMs: 60_000,
      serve: (request) => service.serve(request),
      refuse: (error) => ({ status: error.status, headers: [], body: Buffer.alloc(0) }),
      addressOf: (peer) => peer,
      now: () => Date.now(),
      onFault,
    })
    await listener.listen()
  })

  afterAll(() => {
    service.close()
    listener.close()
  })

  it('finds nothing but what is listed with its reason', PATIENCE, async (context) => {
    expect(await findings(context, port, [])).toBe('')
    expect(faults).toEqual([])
  })
})
