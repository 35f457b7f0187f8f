import { defineConfig } from 'vitest/config'
import { SlowestFiles } from './test/support/slowest-files.ts'
import { UnhandledErrors } from './test/support/unhandled-errors.ts'
import { loadUws, UWS_BUILDS } from './src/front/server/uws.ts'
import { filesOf, SERVER_TESTS } from './test/tiers.ts'
import type { Tier } from './test/tiers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What `startGateway` stores its rows in, unless a test says otherwise. */
    database: 'pglite' | 'postgres'
    tier: Tier
  }
}

/** Builds of uWebSockets.js that load here, but that no gateway takes by itself: the newest is what all other tests run on. */
function olderBuilds(): string[] {
  const newest = loadUws(undefined).version
  return UWS_BUILDS.flatMap(({ version }) => {
    try {
      return version === newest ? [] : [loadUws(version).version]
    } catch {
      return []
    }
  })
}

/** `vitest run` is the short tier, `vitest run --mode long` the long one. */
export default defineConfig(({ mode }) => {
  const tier: Tier = mode === 'long' || mode === 'shots' ? mode : 'short'
  const { units, parts, pglite, postgres } = filesOf(tier)
  // Tests of one file that say that they are concurrent wait for timers of the gateway, not for the processor.
  // They start processes of their own, and share nothing in the worker's but modules.
  const gateway = {
    pool: 'forks' as const,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 90_000,
    maxConcurrency: 64,
  }
  return {
    test: {
      globalSetup: ['test/support/global-setup.ts'],
      // Half of a gateway test is waiting: two workers leave cores idle.
      maxWorkers: 4,
      // Its second is luck on a machine that is held up.
      expect: { poll: { timeout: 15_000 } },
      reporters: ['default', 'json', new SlowestFiles(), new UnhandledErrors(`test-results/${tier}-errors.json`)],
      outputFile: { json: `test-results/${tier}.json` },
      // `extends` reads this file anew, without the mode: the tier is told to each of them.
      projects: [
        {
          extends: true,
          test: {
            ...units,
            name: 'units',
            pool: 'threads',
            // Starting a process for each of these files would take longer than the tests themselves.
            isolate: false,
            testTimeout: 30_000,
            provide: { tier, database: 'pglite' },
          },
        },
        {
          extends: true,
          test: {
            ...parts,
            name: 'parts',
            pool: 'forks',
            // As with gateways: what they load is loaded once, not by each file.
            isolate: false,
            // Full doses take minutes where two cores have other work.
            testTimeout: tier === 'long' ? 180_000 : 30_000,
            hookTimeout: 60_000,
            provide: { tier, database: 'pglite' },
          },
        },
        { extends: true, test: { ...gateway, ...pglite, name: 'pglite', provide: { tier, database: 'pglite' } } },
        { extends: true, test: { ...gateway, ...postgres, name: 'postgres', provide: { tier, database: 'postgres' } } },
        ...(tier === 'long' ? olderBuilds() : []).map((version) => ({
          extends: true as const,
          test: {
            ...gateway,
            name: `uws-${version}`,
            include: SERVER_TESTS,
            env: { SLUICE_UWS_BUILD: version },
            provide: { tier, database: 'pglite' as const },
          },
        })),
      ],
    },
  }
})
