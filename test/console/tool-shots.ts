import type { SluiceClient } from '../../src/client/index.ts'
import type { UpstreamToolServer } from '../support/upstream-tool-server.ts'
import type { Shot } from './shot.ts'

const TOOLS: UpstreamToolServer['tools'] = [
  {
    name: 'search_pages',
    description: 'Finds pages of the handbook by words.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'Words' }, most: { type: 'integer' } },
      required: ['query'],
    },
  },
  { name: 'read_page', description: 'Reads a page.', inputSchema: { type: 'object' } },
  { name: 'delete_page', description: 'Deletes a page.', inputSchema: { type: 'object' } },
]

/** A server with an allowed tool, one that has changed since it was allowed, and one that nobody has decided on; and one that is off. */
export async function fillTools(admin: SluiceClient, tools: UpstreamToolServer): Promise<void> {
  const params = { id: 'handbook' }
  tools.tools = TOOLS.slice(0, 2)
  await admin.call('adminCreateToolServer', {
    body: { ...params, url: tools.url, headers: { authorization: 'Bearer made-up' }, allow_all_tools: true },
  })
  await admin.call('adminRefreshToolServer', { params })
  tools.tools = TOOLS.map((one) => (one.name === 'read_page' ? { ...one, description: 'Reads any page.' } : one))
  await admin.call('adminUpdateToolServer', { params, body: { allow_all_tools: false } })
  await admin.call('adminRefreshToolServer', { params })
  await admin.call('adminCreateToolServer', { body: { id: 'tickets', url: tools.url, enabled: false } })
}

export const TOOL_SHOTS: readonly Shot[] = [
  { name: 'tools', path: () => '/console/platform/tools' },
  { name: 'tool-server', path: () => '/console/platform/tools/handbook' },
  { name: 'tool-server-new', path: () => '/console/platform/tools/new' },
  {
    name: 'tool-server-test',
    path: () => '/console/platform/tools/handbook',
    act: async (page) => {
      await page.getByRole('button', { name: 'Test', exact: true }).click()
      await page.getByText('It works').waitFor()
    },
  },
  {
    name: 'tool-call',
    path: () => '/console/platform/tools/handbook',
    act: async (page) => {
      await page.getByRole('button', { name: 'Try search_pages' }).click()
      const dialog = page.getByRole('dialog').last()
      await dialog.getByLabel('query').fill('travel')
      await dialog.getByLabel('Key that pays').click()
      await page.getByRole('option', { name: 'CI (mine)' }).click()
      await dialog.getByRole('button', { name: 'Call the tool' }).click()
      await dialog.getByRole('status').waitFor()
    },
  },
]
