/*
 * Makes the files that the gateway serves at /console: bundled by Vite, with hashed names, each also compressed. Types are not
 * checked. `src/build.mjs` calls this for `npm run build`.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { build } from 'vite'

const SOURCE = fileURLToPath(new URL('.', import.meta.url))
/** Smaller files gain nothing. */
const MIN_COMPRESSED_BYTES = 512
const TEXT = /[.](js|css|svg|json|html)$/
/** The server puts a new nonce in its place in each response. */
const NONCE = '__NONCE__'

/** Writes `directory`. Throws an error with the file's name for source that is no program. */
export async function bundleConsole(directory) {
  mkdirSync(directory, { recursive: true })
  // Vite follows it, and React has another build for each value: a test run builds what is shipped.
  process.env.NODE_ENV = 'production'
  await build({
    root: SOURCE,
    configFile: false,
    base: '/console/',
    logLevel: 'error',
    publicDir: false,
    html: { cspNonce: NONCE },
    plugins: [react(), schemeScript()],
    css: { modules: { generateScopedName: '[name]_[local]_[hash:base64:4]' } },
    build: {
      outDir: directory,
      license: { fileName: 'licenses.md' },
      emptyOutDir: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      // A script that is small enough to be inlined is not: the policy forbids it.
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 700,
      rolldownOptions: {
        output: {
          // Names that the gateway serves: a chunk of a CSS module has a dot in its name.
          chunkFileNames: ({ name }) => `assets/${name.replaceAll('.', '-')}-[hash].js`,
          // What pages share is one file: as sixty, most of them below a kilobyte, it keeps a slow processor busy with loading alone.
          codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
        },
      },
    },
  })
  compress(directory)
}

/** The theme must be known before the first paint, and the policy forbids inline scripts. */
function schemeScript() {
  const text = readFileSync(join(SOURCE, 'scheme.js'), 'utf8')
  const name = `assets/scheme-${createHash('sha256').update(text).digest('base64url').slice(0, 8)}.js`
  return {
    name: 'scheme-script',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source: text })
    },
    transformIndexHtml: () => [
      { tag: 'script', attrs: { src: `/console/${name}`, nonce: NONCE }, injectTo: 'head-prepend' },
    ],
  }
}

function compress(directory) {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name)
    if (!TEXT.test(name) || name === 'index.html' || !statSync(path).isFile()) continue
    const bytes = readFileSync(path)
    if (bytes.length < MIN_COMPRESSED_BYTES) continue
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    )
  }
}
