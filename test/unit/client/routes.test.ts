import { format, resolveConfig } from 'prettier'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { OperationSpec } from '../../../src/shared/api/operation.ts'
import { OPERATIONS } from '../../../src/shared/api/operations/index.ts'

const FILE = fileURLToPath(new URL('../../../src/client/routes.ts', import.meta.url))

/** After a change of operations: `npx vitest run --project units test/unit/client/routes.test.ts -u` writes the file. */
it('src/client/routes.ts has a route for every operation, and no other', async () => {
  const rows = Object.entries(OPERATIONS).map(([name, spec]) => `${name}: ${JSON.stringify(routeOf(spec))},`)
  const text = `
    import type { Route } from './route.ts'

    // Written by test/unit/client/routes.test.ts from the table of operations, which the client does not load.

    /** The operations of the management plane by their names, in groups by their tags. */
    export const ROUTES = {
      ${rows.join('\n')}
    } as const satisfies Record<string, Route>
  `
  const written = await format(text, { ...(await resolveConfig(FILE)), parser: 'typescript' })
  await expect(written).toMatchFileSnapshot(FILE)
})

function routeOf({ method, path, tag, answer }: OperationSpec) {
  const kind = answer.media !== undefined ? 'bytes' : answer.schema === null ? 'nothing' : 'json'
  return { group: groupOf(tag), method, path, answer: kind, ...(answer.status === 201 ? { creates: true } : {}) }
}

/** `Enterprise keys` → `enterpriseKeys`. */
function groupOf(tag: string): string {
  const [first = '', ...rest] = tag.toLowerCase().split(/[^a-z0-9]+/)
  return first + rest.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}
