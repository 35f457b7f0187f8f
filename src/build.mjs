/*
 * Makes dist/ of src/, unless it is made of the same source already. Types are not checked: `npm run typecheck` does that.
 * With --declarations the compiler does, and adds the .d.ts files that a package needs. With --console it also makes dist/console, the
 * files that browsers get: `npm start` does not wait for them, and a build without it keeps those of the build before.
 *
 * A build is made in a folder of its own and takes the place of dist/ when it is whole: a build that is killed changes nothing.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(ROOT, 'src')
const DIST = join(ROOT, 'dist')
const SCRATCH = join(ROOT, '.tmp')
/** Files for browsers, with a stamp of their own. */
const CONSOLE = join(DIST, 'console')
/** Of src/: what only the console is made of. */
const CONSOLE_SOURCE = /^console[/]/
/** Besides src/console: what the console imports. */
const CONSOLE_IMPORTS = /^(client|shared[/]api|shared[/]endpoints)[/]/
/** Of dist/: what it is made of. */
const STAMP = 'build.json'
/** Of dist/: an embedded database with the schema and nothing in it. */
const TEMPLATE = 'control/store/pglite-template.tar.gz'
/** What besides src/ decides what a build is like. */
const SETTINGS = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'src/build.mjs',
  'src/bundle.mjs',
  'config/models.yaml',
]
/** What is run or imported from outside. */
const MODULES = [
  'main',
  'cli/sluice',
  'client/index',
  'control/capture/body-worker',
  'control/main',
  'control/store/pglite-template',
  'control/store/pglite-thread',
  'front/main',
  'front/validation/validators-source',
  'front/workers/worker',
  'simulator/main',
]
/** Of dist/: the compiled schemas of bodies, where front/validation/schema.ts looks for them. */
const VALIDATORS = 'front/validation/validators'
/** Of dist/: config/models.yaml, where shared/config/catalogue.ts looks for it. */
const CATALOGUE = 'shared/config/models.json'
const TEMPLATE_SOURCE = /^control\/store\/(migrations\/|migrate[.]ts|pglite-)/
const MAX_SWAPS = 100

/** The compiler has said what is wrong. */
class TypesError extends Error {}

const withDeclarations = process.argv.includes('--declarations')
const withConsole = process.argv.includes('--console')
let sources = []
let stamp = null
try {
  const all = readSources()
  sources = all.filter(({ name }) => !CONSOLE_SOURCE.test(name))
  stamp = {
    source: digestOf(sources),
    template: digestOf(sources.filter(({ name }) => TEMPLATE_SOURCE.test(name))),
    declarations: withDeclarations,
  }
  if (!isCurrent()) await build()
  if (withConsole) await buildConsole(all)
} catch (cause) {
  if (!(cause instanceof TypesError)) process.stderr.write(`sluice: ${messageOf(cause)}\n`)
  process.exitCode = 1
}

function messageOf({ code, message }) {
  return code === 'ERR_MODULE_NOT_FOUND'
    ? `${message.split('\n')[0]}; run npm ci first`
    : `cannot build dist: ${message.trimEnd()}`
}

function readSources() {
  const names = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  return names
    .filter(
      (name) => name.endsWith('.ts') || (CONSOLE_SOURCE.test(name) && /[.](tsx|css|html|js|json|mjs|svg)$/.test(name)),
    )
    .sort()
    .map((name) => ({ name, text: readFileSync(join(SOURCE, name), 'utf8') }))
}

function digestOf(files) {
  const hash = createHash('sha256')
  for (const name of SETTINGS)
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(ROOT, name)))
      .update('\0')
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`)
  return hash.digest('hex')
}

/** What dist/ is made of; null when there is none, or none that is whole. */
function madeStamp() {
  return stampIn(DIST)
}

function stampIn(directory) {
  try {
    return JSON.parse(readFileSync(join(directory, STAMP), 'utf8'))
  } catch {
    return null
  }
}

function isCurrent() {
  const made = madeStamp()
  return made?.source === stamp.source && (made.declarations || !withDeclarations)
}

async function build() {
  removeRemains()
  const scratch = join(SCRATCH, `build-${process.pid}`)
  const fresh = join(scratch, 'dist')
  rmSync(scratch, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true })
  try {
    if (withDeclarations) declare(fresh)
    const { bundle } = await import('./bundle.mjs')
    await bundle(MODULES, fresh)
    await addCatalogue(fresh)
    await addValidators(fresh, scratch)
    await addTemplate(fresh)
    writeFileSync(join(fresh, STAMP), `${JSON.stringify(stamp, null, 2)}\n`)
    keepConsole(fresh)
    put(fresh, DIST, scratch, isCurrent)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Of builds that were killed. */
function removeRemains() {
  if (!existsSync(SCRATCH)) return
  for (const name of readdirSync(SCRATCH)) {
    const pid = /^build-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(SCRATCH, name), { recursive: true, force: true })
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return cause.code === 'EPERM'
  }
}

function declare(directory) {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = ['-p', join(ROOT, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', directory]
  const { status } = spawnSync(process.execPath, [compiler, ...options], { stdio: 'inherit' })
  if (status !== 0) throw new TypesError()
}

/** The catalogue of models as JSON, which a start reads in no time. */
async function addCatalogue(directory) {
  const { parse } = await import('yaml')
  const path = join(directory, CATALOGUE)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(parse(readFileSync(join(ROOT, 'config/models.yaml'), 'utf8'))))
}

/** The checks of bodies as JavaScript: a process that compiles the schemas itself needs a tenth of a second for it. */
async function addValidators(directory, scratch) {
  const { validatorsSource } = await import(pathToFileURL(join(directory, `${VALIDATORS}-source.js`)).href)
  const source = join(scratch, 'validators.cjs')
  writeFileSync(source, validatorsSource())
  const { bundleFile } = await import('./bundle.mjs')
  await bundleFile(source, join(directory, `${VALIDATORS}.js`))
}

/** Making one takes seconds: it is taken from the build before where that would make the same. */
async function addTemplate(directory) {
  const path = join(directory, TEMPLATE)
  const before = join(DIST, TEMPLATE)
  if (madeStamp()?.template === stamp.template && existsSync(before)) {
    copyFileSync(before, path)
    return
  }
  const { makeTemplate } = await import(pathToFileURL(join(directory, 'control/store/pglite-template.js')).href)
  writeFileSync(path, await makeTemplate())
}

async function buildConsole(all) {
  const source = digestOf(all.filter(({ name }) => CONSOLE_SOURCE.test(name) || CONSOLE_IMPORTS.test(name)))
  if (stampIn(CONSOLE)?.source === source) return
  const scratch = join(SCRATCH, `build-${process.pid}`)
  const fresh = join(scratch, 'console')
  rmSync(scratch, { recursive: true, force: true })
  try {
    const { bundleConsole } = await import('./console/bundle.mjs')
    await bundleConsole(fresh)
    writeFileSync(join(fresh, STAMP), `${JSON.stringify({ source })}\n`)
    put(fresh, CONSOLE, scratch, () => stampIn(CONSOLE)?.source === source)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The console is no part of the digest of the rest: it is taken over as it is. */
function keepConsole(directory) {
  if (existsSync(CONSOLE)) cpSync(CONSOLE, join(directory, 'console'), { recursive: true })
}

/**
 * Puts `fresh` in the place of `target`. Another build that runs at the same time may be faster: with the same source its result stays.
 */
function put(fresh, target, scratch, isTargetCurrent) {
  for (let swap = 0; swap < MAX_SWAPS; swap++) {
    try {
      renameSync(fresh, target)
      return
    } catch (cause) {
      if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause
    }
    if (isTargetCurrent()) return
    try {
      renameSync(target, join(scratch, `replaced-${swap}`))
    } catch (cause) {
      if (cause.code !== 'ENOENT') throw cause
    }
  }
  throw new Error('dist/ is replaced again and again by other builds; end them and try again')
}
