/*
 * Makes JavaScript of modules of src/ and of what they import: each under its own name, what several share in chunks/. One
 * file for each module, and for each of the hundreds of modules of the packages of `BUNDLED`, would cost a start a second
 * of the processor.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(ROOT, 'src')
/**
 * Packages that most starts load, with all packages that those import, and large ones of which little is used: those are development
 * dependencies. All others are imported from node_modules: they have files that they find by their place, or few starts load them.
 */
const BUNDLED = new Set([
  '@noble/hashes',
  '@pinojs/redact',
  'ajv',
  'atomic-sleep',
  'fast-deep-equal',
  'fast-uri',
  'gpt-tokenizer',
  'hono',
  'jose',
  'json-schema-traverse',
  'libphonenumber-js',
  'lru-cache',
  'oauth4webapi',
  'on-exit-leak-free',
  'openid-client',
  'otpauth',
  'pino',
  'pino-abstract-transport',
  'pino-std-serializers',
  'process-warning',
  'quick-format-unescaped',
  'real-require',
  'require-from-string',
  'safe-stable-stringify',
  'sonic-boom',
  'split2',
  'thread-stream',
  'typebox',
  'yaml',
])
const PACKAGE = /^(@[^/]+[/])?[^/]+/
const PACKAGE_FOLDER = /^.*[/]node_modules[/](@[^/]+[/])?[^/]+/
const LICENCE = /^(licen[cs]e|copying|notice)([.-].*)?$/i
/** Of what is written: the licences of the packages that are in it, which ask to be with it. */
const LICENCES = 'licenses.txt'
const RELATIVE_OR_ABSOLUTE = /^[./]/
const MODULE_URL = /__urlOf\("([^"]+)"\)/g

/**
 * Writes `directory`. `modules` are paths below src/ without `.ts`; what is written for them exports the same. Types are
 * stripped, not checked. Throws an error of a line or a few for source that is no program, with the file's name.
 */
export async function bundle(modules, directory) {
  const input = Object.fromEntries(modules.map((name) => [name, join(SOURCE, `${name}.ts`)]))
  const chunks = await write(input, {
    dir: directory,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  })
  writeFileSync(join(directory, LICENCES), licencesOf(chunks))
}

function licencesOf(chunks) {
  const folders = new Set(chunks.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => PACKAGE_FOLDER.exec(id)?.[0])))
  folders.delete(undefined)
  return [...folders].sort().map(licenceOf).join('\n')
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const texts = readdirSync(folder).filter((file) => LICENCE.test(file))
  return [
    `== ${name} ${version} (${license})\n`,
    ...texts.map((file) => readFileSync(join(folder, file), 'utf8')),
  ].join('\n')
}

/** Writes `path`, a module of `source` and of what it imports. Throws as `bundle` does. */
export function bundleFile(source, path) {
  return write(source, { file: path })
}

async function write(input, output) {
  try {
    const build = await rolldown({
      input,
      cwd: ROOT,
      platform: 'node',
      logLevel: 'silent',
      external: (name) => !RELATIVE_OR_ABSOLUTE.test(name) && !BUNDLED.has(PACKAGE.exec(name)?.[0]),
      plugins: [ownUrls],
    })
    const written = await build.write(output)
    await build.close()
    return written.output
  } catch (cause) {
    throw new Error(stripVTControlCharacters(cause.message), { cause })
  }
}

/** A module finds files by where it would stand if it were written by itself. */
const ownUrls = {
  name: 'own-urls',
  transform(code, file) {
    if (!file.startsWith(SOURCE) || !code.includes('import.meta.url')) return null
    const written = relative(SOURCE, file).replace(/[.]ts$/, '.js')
    return code.replaceAll('import.meta.url', `__urlOf(${JSON.stringify(written)})`)
  },
  renderChunk(code, { fileName }) {
    return code.replaceAll(MODULE_URL, (_, written) => {
      const path = JSON.stringify(`./${relative(dirname(fileName), written)}`)
      return `new URL(${path}, import.meta.url).href`
    })
  },
}
