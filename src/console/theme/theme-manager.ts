import type { MantineColorScheme, MantineColorSchemeManager } from '@mantine/core'
import { remember, remembered } from '../api/preferences.ts'

function chosen(): MantineColorScheme | null {
  const stored = remembered('theme')
  return stored === 'light' || stored === 'dark' || stored === 'auto' ? stored : null
}

/** The chosen theme, in the storage that `scheme.js` reads before the first paint; other tabs follow. */
export const themeManager: MantineColorSchemeManager = {
  get: (standard) => chosen() ?? standard,
  set: (value) => {
    remember('theme', value)
  },
  subscribe: (onUpdate) => {
    addEventListener('storage', ({ key }) => {
      if (key === 'sluice.theme') onUpdate(chosen() ?? 'auto')
    })
  },
  unsubscribe: () => undefined,
  clear: () => {
    remember('theme', 'auto')
  },
}
