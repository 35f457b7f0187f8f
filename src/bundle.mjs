/*
 * Makes JavaScript of modules of src/ and of what they import: each under its own name, what several share in chunks/. One
 * file for each module, and for each of the hundreds of modules of the packages of `BUNDLED`, would cost a start a second
 * of the processor.
 */
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(ROOT, 'src')
/**
 * Packages that most starts load, with all packages that those import. All others are imported from node_modules: they have files that
 * they find by their place, or few starts load them.
 */
const BUNDLED = new Set([
  '@noble/hashes',
  '@pinojs/redact',
  'ajv',
  'atomic-sleep',
  'fast-deep-equal',
  'fast-uri',
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
const RELATIVE_OR_ABSOLUTE = /^[./]/
const MODULE_URL = /__urlOf\("([^"]+)"\)/g

/**
 * Writes `directory`. `modules` are paths below src/ without `.ts`; what is written for them exports the same. Types are
 * stripped, not checked. Throws an error of a line or a few for source that is no program, with the file's name.
 */
export async function bundle(modules, directory) {
  const input = Object.fromEntries(modules.map((name) => [name, join(SOURCE, `${name}.ts`)]))
  await write(input, { dir: directory, entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' })
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
    await build.write(output)
    await build.close()
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
