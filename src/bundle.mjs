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
/** Packages of many small modules. All others are imported from node_modules. */
const BUNDLED = /^(jose|libphonenumber-js|typebox)($|\/)/
const RELATIVE_OR_ABSOLUTE = /^[./]/
const MODULE_URL = /__urlOf\("([^"]+)"\)/g

/**
 * Writes `directory`. `modules` are paths below src/ without `.ts`; what is written for them exports the same. Types are
 * stripped, not checked. Throws an error of a line or a few for source that is no program, with the file's name.
 */
export async function bundle(modules, directory) {
  const input = Object.fromEntries(modules.map((name) => [name, join(SOURCE, `${name}.ts`)]))
  try {
    const build = await rolldown({
      input,
      cwd: ROOT,
      platform: 'node',
      logLevel: 'silent',
      external: (name) => !RELATIVE_OR_ABSOLUTE.test(name) && !BUNDLED.test(name),
      plugins: [ownUrls],
    })
    await build.write({ dir: directory, entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' })
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
