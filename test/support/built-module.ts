/** The address of one source file as the global setup built it, for processes and threads that run plain JavaScript. */
export function builtModule(source: string): URL {
  return new URL(`../../dist/${source.replace(/\.ts$/, '.js')}`, import.meta.url)
}
