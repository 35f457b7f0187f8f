import { pathToFileURL } from 'node:url'
import { inject } from 'vitest'

/** Modules, as paths below `src`, that the global setup builds for processes and threads of tests, which run plain JavaScript. */
export const BUILT_MODULES = [
  'front/workers/pool',
  'front/workers/worker',
  'journal/frames',
  'journal/record',
  'shared/config/secrets',
  'shared/telemetry/logger',
] as const

/** The URL of a built module. */
export function builtModule(name: (typeof BUILT_MODULES)[number]): URL {
  return new URL(`${name}.js`, pathToFileURL(`${inject('builtModules')}/`))
}
