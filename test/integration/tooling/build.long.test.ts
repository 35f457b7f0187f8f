import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'

const OTHER_MODULES = [
  'cli/sluice',
  'client/index',
  'control/capture/body-worker',
  'control/main',
  'control/store/pglite-thread',
  'front/main',
  'front/workers/worker',
  'simulator/main',
]
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-build-'))
  for (const file of [
    'src/build.mjs',
    'src/bundle.mjs',
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'package.json',
  ]) {
    cpSync(resolve(file), join(root, file))
  }
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  for (const name of OTHER_MODULES) write(`src/${name}.ts`, 'export {}\n')
  write(
    'src/control/store/pglite-template.ts',
    "export const makeTemplate = async (): Promise<string> => 'template 1'\n",
  )
  write(
    'src/main.ts',
    "import { greet, type Name } from './greet.ts'\nconst name: Name = 'all'\nconsole.log(greet(name))\n",
  )
  write(
    'src/front/validation/validators-source.ts',
    "export const validatorsSource = (): string => 'exports.validate0 = () => true'\n",
  )
  write('config/models.yaml', 'models: []\n')
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => `hello ${name}`\n')
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

it('makes a program that runs, a template, and JSON of the catalogue', () => {
  expect(build()).toEqual({ status: 0, stderr: '' })
  expect(readFileSync(join(root, 'dist/shared/config/models.json'), 'utf8')).toBe('{"models":[]}')
  expect(readFileSync(join(root, 'dist/front/validation/validators.js'), 'utf8')).toContain('validate0')
  expect(run()).toBe('hello all\n')
  expect(template()).toBe('template 1')
})

it('keeps the console of a build before, which it does not make itself', () => {
  build()
  write('dist/console/index.html', 'the console')
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => `bye ${name}`\n')
  expect(build()).toEqual({ status: 0, stderr: '' })
  expect(run()).toBe('bye all\n')
  expect(readFileSync(join(root, 'dist/console/index.html'), 'utf8')).toBe('the console')
})

it('leaves the build before as it was when the source is no program, and names the file', () => {
  build()
  write('src/greet.ts', 'export const greet = (\n')
  const { status, stderr } = build()
  expect(status).toBe(1)
  expect(stderr).toMatch(/^sluice: cannot build dist: .*\bsrc\/greet.ts:1\b/s)
  expect(run()).toBe('hello all\n')
  expect(scratch()).toEqual([])
})

it('finds files where the source says that they are, whatever file its code is in', () => {
  write('src/lower/where.ts', "export const where = (): string => new URL('../there', import.meta.url).href\n")
  const use = "import { where } from './lower/where.ts'\nconsole.log(where())\n"
  write('src/main.ts', use)
  write('src/cli/sluice.ts', use.replace('./', '../'))
  expect(build()).toEqual({ status: 0, stderr: '' })
  for (const program of ['dist/main.js', 'dist/cli/sluice.js']) {
    expect(run(program)).toBe(`${pathToFileURL(join(root, 'dist/there')).href}\n`)
  }
})

it('adds declarations for a package, and refuses what has the wrong type', () => {
  expect(build(['--declarations']).status).toBe(0)
  expect(readFileSync(join(root, 'dist/greet.d.ts'), 'utf8')).toContain('type Name = string')
  expect(run()).toBe('hello all\n')
  const made = statSync(join(root, 'dist')).ino
  // What a start would make has nothing that is missing here.
  expect(build().status).toBe(0)
  expect(statSync(join(root, 'dist')).ino).toBe(made)
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => 7\n')
  expect(build(['--declarations']).status).toBe(1)
  expect(statSync(join(root, 'dist')).ino).toBe(made)
})

it.each([
  ['a start', []],
  ['a package', ['--declarations']],
])('has packages of hundreds of modules in the files of %s', (_, args) => {
  write(
    'src/greet.ts',
    "import { Type } from 'typebox'\nimport { Value } from 'typebox/value'\nexport type Name = string\n" +
      'export const greet = (name: Name): string => `${name} ${Value.Check(Type.Integer(), 7)} ${Value.Check(Type.Integer(), name)}`\n',
  )
  expect(build(args)).toEqual({ status: 0, stderr: '' })
  rmSync(join(root, 'node_modules'))
  expect(run()).toBe('all true false\n')
})

it('says what to do where development packages are not installed', () => {
  const installed = resolve('node_modules')
  rmSync(join(root, 'node_modules'))
  mkdirSync(join(root, 'node_modules'))
  for (const name of readdirSync(installed)) {
    if (name !== 'rolldown') symlinkSync(join(installed, name), join(root, 'node_modules', name))
  }
  const { status, stderr } = build()
  expect(status).toBe(1)
  expect(stderr).toMatch(/^sluice: Cannot find package 'rolldown' .*; run npm ci first\n$/)
})

it('does nothing while nothing changed, whatever the times of files', () => {
  build()
  const made = statSync(join(root, 'dist')).ino
  write('src/greet.ts', readFileSync(join(root, 'src/greet.ts'), 'utf8'))
  build()
  expect(statSync(join(root, 'dist')).ino).toBe(made)
})

it.each(['src/greet.ts', 'config/models.yaml', 'package-lock.json', 'tsconfig.json'])(
  'makes a new one when %s changes',
  (file) => {
    build()
    const made = statSync(join(root, 'dist')).ino
    write(file, `${readFileSync(join(root, file), 'utf8')}\n`)
    build()
    expect(statSync(join(root, 'dist')).ino).not.toBe(made)
  },
)

it('forgets files that are gone', () => {
  build()
  write('dist/gone.js', '')
  write('src/greet.ts', "export type Name = string\nexport const greet = (): string => 'hello'\n")
  build()
  expect(existsSync(join(root, 'dist/gone.js'))).toBe(false)
})

it('makes the template anew when what it is made of changes, and only then', () => {
  build()
  write(
    'src/control/store/pglite-template.ts',
    "export const makeTemplate = async (): Promise<string> => 'template 2'\n",
  )
  rmSync(join(root, 'dist/control/store/pglite-template.tar.gz'))
  write('dist/control/store/pglite-template.tar.gz', 'of the build before')
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => `bye ${name}`\n')
  build()
  expect(run()).toBe('bye all\n')
  expect(template()).toBe('template 2')
  write('dist/control/store/pglite-template.tar.gz', 'of the build before')
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => `so ${name}`\n')
  build()
  expect(template()).toBe('of the build before')
})

it('leaves the build before as it was when one is killed, and the next one removes what is left', async () => {
  build()
  write(
    'src/control/store/pglite-template.ts',
    "export const makeTemplate = (): Promise<string> => { console.log('making'); setInterval(() => undefined, 1e6); return new Promise(() => undefined) }\n",
  )
  write('src/greet.ts', 'export type Name = string\nexport const greet = (name: Name): string => `bye ${name}`\n')
  const child = spawn(process.execPath, [join(root, 'src/build.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(run()).toBe('hello all\n')
  expect(scratch()).toHaveLength(1)

  write(
    'src/control/store/pglite-template.ts',
    "export const makeTemplate = async (): Promise<string> => 'template 3'\n",
  )
  build()
  expect(run()).toBe('bye all\n')
  expect(scratch()).toEqual([])
})

it('lets several at once have one result', async () => {
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, [join(root, 'src/build.mjs')], { stdio: ['ignore', 'inherit', 'inherit'] }),
  )
  await eventually(() => {
    expect(children.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
  })
  expect(run()).toBe('hello all\n')
  expect(scratch()).toEqual([])
})

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}

function build(options: readonly string[] = []): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'src/build.mjs'), ...options], {
    encoding: 'utf8',
  })
  return { status, stderr }
}

function run(program = 'dist/main.js'): string {
  return spawnSync(process.execPath, [join(root, program)], { encoding: 'utf8' }).stdout
}

function template(): string {
  return readFileSync(join(root, 'dist/control/store/pglite-template.tar.gz'), 'utf8')
}

function scratch(): string[] {
  return readdirSync(join(root, '.tmp'))
}
