/*
 * Makes dist/ of src/, unless it is made of the same source already. Types are not checked: `npm run typecheck` does that.
 * With --declarations the compiler does, and adds the .d.ts files that a package needs.
 *
 * A build is made in a folder of its own and takes the place of dist/ when it is whole: a build that is killed changes nothing.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(ROOT, 'src')
const DIST = join(ROOT, 'dist')
const SCRATCH = join(ROOT, '.tmp')
/** Of dist/: what it is made of. */
const STAMP = 'build.json'
/** Of dist/: an embedded database with the schema and nothing in it. */
const TEMPLATE = 'control/store/pglite-template.tar.gz'
/** What besides src/ decides what a build is like. */
const SETTINGS = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'src/build.mjs', 'src/bundle.mjs']
/** What is run or imported from outside. */
const MODULES = [
  'main',
  'cli/sluice',
  'client/index',
  'control/main',
  'control/store/pglite-template',
  'control/store/pglite-thread',
  'front/main',
  'front/workers/worker',
  'simulator/main',
]
const TEMPLATE_SOURCE = /^control\/store\/(migrations\/|migrate[.]ts|pglite-)/
const MAX_SWAPS = 100

/** The compiler has said what is wrong. */
class TypesError extends Error {}

const withDeclarations = process.argv.includes('--declarations')
let sources = []
let stamp = null
try {
  sources = readSources()
  stamp = {
    source: digestOf(sources),
    template: digestOf(sources.filter(({ name }) => TEMPLATE_SOURCE.test(name))),
    declarations: withDeclarations,
  }
  if (!isCurrent()) await build()
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
    .filter((name) => name.endsWith('.ts'))
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
  try {
    return JSON.parse(readFileSync(join(DIST, STAMP), 'utf8'))
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
    await addTemplate(fresh)
    writeFileSync(join(fresh, STAMP), `${JSON.stringify(stamp, null, 2)}\n`)
    install(fresh, scratch)
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

/** Takes the place of dist/. Another build that runs at the same time may be faster: with the same source its result stays. */
function install(fresh, scratch) {
  for (let swap = 0; swap < MAX_SWAPS; swap++) {
    try {
      renameSync(fresh, DIST)
      return
    } catch (cause) {
      if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause
    }
    if (isCurrent()) return
    try {
      renameSync(DIST, join(scratch, `replaced-${swap}`))
    } catch (cause) {
      if (cause.code !== 'ENOENT') throw cause
    }
  }
  throw new Error('dist/ is replaced again and again by other builds; end them and try again')
}
