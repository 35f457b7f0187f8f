import { expect, it } from 'vitest'
import { isSection, sectionsOf } from '../../../src/console/pages/system/sections.ts'
import words from '../../../src/console/words/en/system.json' with { type: 'json' }
import { configSchema } from '../../../src/shared/config/schema.ts'
import { shownSettings } from '../../../src/shared/config/shown-settings.ts'

it('has a title for each section of the configuration, and shows every setting once', () => {
  const settings = shownSettings(configSchema, {}, { file: undefined, overrides: [] })
  const sections = sectionsOf(settings)
  const names = sections.map(([section]) => section)
  expect(names.filter((section) => !isSection(section))).toEqual([])
  expect([...names].sort()).toEqual(Object.keys(words.sections).sort())
  expect(sections.flatMap(([, members]) => members)).toHaveLength(settings.length)
})

it('shows what it does not know under its own name, last', () => {
  const sections = sectionsOf([{ name: 'new_section.a' }, { name: 'log.level' }])
  expect(sections).toEqual([
    ['log', [{ name: 'log.level' }]],
    ['new_section', [{ name: 'new_section.a' }]],
  ])
})
