import { defineConfig } from 'vitest/config'

/** Tests of whole gateways: each runs on the embedded database and on Postgres. */
const GATEWAY_TESTS = [
  'test/integration/{gateway,management}/**/*.test.ts',
  'test/fault/**/*.test.ts',
  'test/e2e/**/*.test.ts',
]

declare module 'vitest' {
  interface ProvidedContext {
    /** What `startGateway` stores its rows in, unless a test says otherwise. */
    database: 'pglite' | 'postgres'
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    reporters: ['default', 'json'],
    outputFile: { json: 'test-results/report.json' },
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: GATEWAY_TESTS,
          pool: 'forks',
          testTimeout: 30_000,
          hookTimeout: 60_000,
          provide: { database: 'pglite' },
        },
      },
      ...(['pglite', 'postgres'] as const).map((database) => ({
        extends: true as const,
        test: {
          name: database,
          include: GATEWAY_TESTS,
          pool: 'forks' as const,
          testTimeout: 60_000,
          hookTimeout: 90_000,
          provide: { database },
        },
      })),
    ],
  },
})
