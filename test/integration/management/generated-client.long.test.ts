import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NOUNS } from '../../../src/shared/api/nouns.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { startGateway } from '../../support/gateway.ts'
import { ManagementClient } from '../../support/management-client.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')
const TIMEOUT_MS = 240_000

const run = promisify(execFile)

/** What somebody would write who has the generated types and nothing else. */
const PROGRAM = `
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

const [baseUrl = '', token = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } })

const made = await client.POST('/api/keys', { body: { name: 'generated', rpm: 5, models: ['m'] } })
if (made.error !== undefined) throw new Error(made.error.error.message)
const secret: string = made.data.key

const listed = await client.GET('/api/keys', { params: { query: { limit: 5 } } })
if (listed.error !== undefined) throw new Error(listed.error.error.message)
const names: string[] = listed.data.data.map((key) => key.name)

const missing = await client.GET('/api/keys/{id}', { params: { path: { id: 'key_x' } } })
const code: string | undefined = missing.error?.error.code

const usage = await client.GET('/api/stats/usage', { params: { query: { group_by: 'model', granularity: 'hour' } } })
const requests: number | undefined = usage.data?.totals.requests

process.stdout.write(JSON.stringify({ names, isSecret: secret.startsWith('sk-'), code, requests }))
`

/** Each line is one that must not compile. */
const MISTAKES = `
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

const client = createClient<paths>()
// @ts-expect-error a key has a name
void client.POST('/api/keys', { body: { rpm: 5 } })
// @ts-expect-error a limit is a number
void client.POST('/api/keys', { body: { name: 'a', rpm: '5' } })
// @ts-expect-error no granularity of this name
void client.GET('/api/stats/usage', { params: { query: { granularity: 'minute' } } })
// @ts-expect-error no such path
void client.GET('/api/nothing')
`

const SETTINGS = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM', 'DOM.Iterable'],
    module: 'NodeNext',
    moduleResolution: 'NodeNext',
    types: ['node'],
    strict: true,
    outDir: 'made',
    rootDir: '.',
  },
  include: ['*.ts'],
}

let gateway: TestGateway
let directory: string

beforeAll(async () => {
  gateway = await startGateway()
  mkdirSync(join(ROOT, '.tmp'), { recursive: true })
  directory = mkdtempSync(join(ROOT, '.tmp', 'generated-'))
}, TIMEOUT_MS)

afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await gateway.stop()
})

it('is made from the document, compiles, and lists keys', { timeout: TIMEOUT_MS }, async () => {
  const document = await (await fetch(`${gateway.url}/openapi.json`)).text()
  const write = (name: string, text: string): void => {
    writeFileSync(join(directory, name), text)
  }
  const types = astToString(await openapiTS(document))
  for (const noun of NOUNS.values()) {
    expect(types.match(new RegExp(`^        ${noun}\\d*: `, 'gm')), noun).toEqual([`        ${noun}: `])
  }
  write('schema.ts', types)
  write('program.ts', PROGRAM)
  write('mistakes.ts', MISTAKES)
  write('package.json', JSON.stringify({ type: 'module' }))
  write('tsconfig.json', JSON.stringify(SETTINGS))
  const compiled = await run(process.execPath, [COMPILER, '-p', directory]).catch((cause: unknown) => cause as object)
  expect(compiled).toEqual({ stdout: '', stderr: '' })

  const { token } = await ManagementClient.ofAdmin(gateway)
  const { stdout } = await run(process.execPath, [join(directory, 'made/program.js'), gateway.url, token ?? ''])
  const { names, ...rest } = JSON.parse(stdout) as { names: string[] }
  expect(names).toContain('generated')
  expect(rest).toEqual({ isSecret: true, code: 'NOT_FOUND', requests: 0 })
})
