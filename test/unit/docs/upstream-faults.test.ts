import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { expect, it } from 'vitest'
import { UPSTREAM_FAULTS } from '../../fault/upstream-fault-table.ts'
import { renderFaultPage } from '../../support/upstream-fault-page.ts'

const PAGE = fileURLToPath(new URL('../../../src/front/gateway/upstream-faults.md', import.meta.url))

it('tells on its page what the table of upstream faults says', async () => {
  const page = await format(renderFaultPage(UPSTREAM_FAULTS), { ...(await resolveConfig(PAGE)), filepath: PAGE })
  await expect(page).toMatchFileSnapshot(PAGE)
})

it('gives each fault a name of its own', () => {
  const names = UPSTREAM_FAULTS.flatMap(({ faults }) => faults.map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
})
