import { expect, it } from 'vitest'
import { editorSchema } from '../../../src/shared/config/editor-schema.ts'

it('is what config/sluice.schema.json holds; `npx vitest run test/unit/config -u` writes it anew', async () => {
  await expect(`${JSON.stringify(editorSchema(), null, 2)}\n`).toMatchFileSnapshot('../../../config/sluice.schema.json')
})
