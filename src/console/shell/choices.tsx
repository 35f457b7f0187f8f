import { SegmentedControl, useMantineColorScheme } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../parts/icons.tsx'
import type { IconName } from '../parts/icons.tsx'
import { chooseLanguage, useLanguage, useWords } from '../words/index.ts'
import type { Language } from '../words/index.ts'

/** Each language in its own name. */
const NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' }

export function LanguageSwitch(): ReactNode {
  const language = useLanguage()
  const t = useWords('common')
  return (
    <SegmentedControl
      aria-label={t('language')}
      value={language}
      data={Object.entries(NAMES).map(([value, label]) => ({ value, label }))}
      onChange={(next) => {
        void chooseLanguage(next as Language)
      }}
    />
  )
}

const THEMES = { auto: 'system', light: 'sun', dark: 'moon' } as const satisfies Record<string, IconName>

export function ThemeSwitch(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const t = useWords('common')
  return (
    <SegmentedControl
      aria-label={t('theme')}
      value={colorScheme}
      data={(['auto', 'light', 'dark'] as const).map((value) => ({
        value,
        label: (
          <span style={{ display: 'flex', alignItems: 'center', height: 20 }} title={t(`themes.${value}`)}>
            <Icon name={THEMES[value]} size={14} />
            <span className="hidden">{t(`themes.${value}`)}</span>
          </span>
        ),
      }))}
      onChange={(next) => {
        setColorScheme(next)
      }}
    />
  )
}
