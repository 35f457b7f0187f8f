import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadUws, UWS_BUILDS } from '../../../src/front/server/uws.ts'
import { runProgram, stopPrograms } from '../../support/program.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-build-'))
})

afterEach(async () => {
  await stopPrograms()
  rmSync(folder, { recursive: true, force: true })
})

const start = (build: string): ReturnType<typeof runProgram> =>
  runProgram(folder, { HOST: '127.0.0.1', PORT: '0', SLUICE_FRONTS: '2', SLUICE_UWS_BUILD: build })

it('names the Node and the build that it runs on', async () => {
  const { version } = loadUws(undefined)
  const program = start('')
  await program.ready()
  expect(program.stdout()).toContain(`(Node ${process.versions.node}, uWebSockets.js ${version})`)
})

it('ends with one line and exit code 1 without a build that loads', async () => {
  const foreign = UWS_BUILDS.find(({ nodes }) => !nodes.includes(Number.parseInt(process.versions.node)))
  const refused = foreign === undefined ? ['1.0.0'] : ['1.0.0', foreign.version]
  for (const build of refused) {
    const program = start(build)
    expect(await program.ended, build).toBe(1)
    expect(program.stderr().split('\n'), build).toEqual([
      expect.stringMatching(/^sluice: .*uWebSockets|^sluice: SLUICE_UWS_BUILD: 1.0.0 is none of /),
      '',
    ])
    expect(program.stdout()).not.toContain('ready')
  }
})
