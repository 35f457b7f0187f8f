import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Compiles one source file and what it imports, for a child process that runs plain JavaScript. Inside the checkout, so
 * that packages resolve; the caller removes it. `beside` are files that it looks for at run time.
 */
export function compileModule(source: string, ...beside: string[]): { readonly url: string; remove(): void } {
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(root, '.tmp', 'compiled-'))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--ignoreConfig', '--noCheck', '--rewriteRelativeImportExtensions', '--module', 'nodenext']
  const output = ['--target', 'es2022', '--rootDir', join(root, 'src'), '--outDir', directory]
  const sources = [source, ...beside].map((file) => join(root, 'src', file))
  execFileSync(process.execPath, [compiler, ...options, ...output, ...sources], { stdio: 'pipe' })
  return {
    url: pathToFileURL(join(directory, source.replace(/\.ts$/, '.js'))).href,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
