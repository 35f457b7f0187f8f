/*
 * Makes dist/ of src/, unless it is made of the same source already. Types are stripped, not checked: `npm run typecheck`
 * does that. With --declarations the compiler itself does both and adds the .d.ts files that a package needs.
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
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
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
const SETTINGS = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'src/build.mjs']
/** Packages of many modules, which each process would look up and read one by one: a start takes a second of the processor longer. */
const BUNDLED = {
  jose: 'jose',
  'libphonenumber-min': 'libphonenumber-js/min',
  typebox: 'typebox',
  'typebox-value': 'typebox/value',
}
const BUNDLES = 'bundled'
const TEMPLATE_SOURCE = /^control\/store\/(migrations\/|migrate[.]ts|pglite-)/
const SPECIFIER = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])([.]{1,2}\/[^'"\n]+)[.]ts\2/g
const MAX_SWAPS = 100

/** The source is at fault; no message where the compiler has said why. */
class SourceError extends Error {}

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
  const text = messageOf(cause)
  if (text !== '') process.stderr.write(`${text}\n`)
  process.exitCode = 1
}

function messageOf(cause) {
  if (cause instanceof SourceError) return cause.message
  const [line] = String(cause.message).split('\n')
  return cause.code === 'ERR_MODULE_NOT_FOUND'
    ? `sluice: ${line}; run npm ci first`
    : `sluice: cannot build dist: ${line}`
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
    if (withDeclarations) compile(fresh)
    else await strip(fresh)
    await bundle(fresh)
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

function compile(directory) {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const project = join(ROOT, 'tsconfig.build.json')
  const { status } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', directory], { stdio: 'inherit' })
  if (status !== 0) throw new SourceError()
}

async function strip(directory) {
  const toJavaScript = await stripper()
  for (const { name, text } of sources) {
    if (name.endsWith('.d.ts')) continue
    const path = join(directory, name.replace(/[.]ts$/, '.js'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, toJavaScript(text, name))
  }
}

/** Node's own needs a tenth of the compiler's time, and keeps every line and column; Node 20 has none. */
async function stripper() {
  const { stripTypeScriptTypes } = nodeModule
  if (stripTypeScriptTypes !== undefined) {
    silenceExperimentalWarnings()
    return (text, name) => {
      try {
        return stripTypeScriptTypes(text).replace(SPECIFIER, '$1$2$3.js$2')
      } catch (cause) {
        // Begins with the number and the text of the line.
        throw new SourceError(`src/${name}${cause.stack.split('\n    at ')[0]}`, { cause })
      }
    }
  }
  const { default: ts } = await import('typescript')
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'))
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  // Told from package.json otherwise, which is not read for one file.
  const { ESNext: module } = ts.ModuleKind
  const { Bundler: moduleResolution } = ts.ModuleResolutionKind
  const compilerOptions = { ...options, module, moduleResolution, noEmit: false, sourceMap: false }
  return (text, name) => {
    const fileName = `src/${name}`
    const { outputText, diagnostics } = ts.transpileModule(text, { fileName, compilerOptions, reportDiagnostics: true })
    if (diagnostics.length === 0) return outputText
    throw new SourceError(ts.formatDiagnostics(diagnostics, ts.createCompilerHost(compilerOptions)))
  }
}

function silenceExperimentalWarnings() {
  const emit = process.emitWarning
  process.emitWarning = (warning, ...more) => {
    if (more[0] !== 'ExperimentalWarning') emit.call(process, warning, ...more)
  }
}

/** Has every module import a file of `BUNDLES` in place of the package. Without the bundler, a development dependency, imports stay. */
async function bundle(directory) {
  const bundler = await import('rolldown').catch(() => null)
  if (bundler === null) return
  const bundled = await bundler.rolldown({ input: BUNDLED, cwd: ROOT, platform: 'node' })
  await bundled.write({ dir: join(directory, BUNDLES) })
  await bundled.close()
  const files = Object.entries(BUNDLED)
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js') || name.startsWith(`${BUNDLES}/`)) continue
    const path = join(directory, name)
    const text = readFileSync(path, 'utf8')
    const up = '../'.repeat(name.split('/').length - 1) || './'
    const linked = files.reduce(
      (linked, [file, specifier]) => linked.replaceAll(` from '${specifier}'`, ` from '${up}${BUNDLES}/${file}.js'`),
      text,
    )
    if (linked !== text) writeFileSync(path, linked)
  }
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
