import { Button, SegmentedControl, Select, Textarea, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../../parts/icons.tsx'
import type { UrlState } from '../../parts/url-state.ts'
import { useWords } from '../../words/index.ts'
import { DIALECTS } from './prompt.ts'
import type { Dialect } from './prompt.ts'
import classes from './playground-page.module.css'

/** As typed. */
export interface Settings {
  readonly system: string
  readonly maxTokens: string
  readonly temperature: string
}

export const NO_SETTINGS: Settings = { system: '', maxTokens: '', temperature: '' }

/** Null: nothing was typed. Undefined: it is no number. */
export function numberOf(text: string): number | null | undefined {
  if (text.trim() === '') return null
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

interface ControlsProps {
  readonly models: readonly string[]
  readonly isReady: boolean
  readonly dialect: Dialect
  readonly first: string
  readonly second: string | null
  readonly settings: Settings
  readonly isMaxWrong: boolean
  readonly isTemperatureWrong: boolean
  readonly onSettings: (settings: Settings) => void
  readonly onUrl: UrlState['set']
}

/** The protocol, the models and the parameters of what is asked. */
export function Controls(props: ControlsProps): ReactNode {
  const { models, isReady, dialect, first, second, settings, onSettings, onUrl } = props
  const t = useWords('playground')
  const known = [...new Set([...models, ...[first, second ?? ''].filter((one) => one !== '')])]
  const choice = (label: string, value: string, onChange: (model: string) => void): ReactNode => (
    <Select
      label={label}
      value={value === '' ? null : value}
      data={known}
      searchable
      placeholder={isReady ? t('chooseModel') : t('keyFirst')}
      nothingFoundMessage={isReady ? t('noSuchModel') : t('keyFirst')}
      onChange={(model) => {
        if (model !== null) onChange(model)
      }}
    />
  )
  return (
    <div className={classes.controls}>
      <div>
        <span className={classes.label}>{t('dialect')}</span>
        <SegmentedControl
          aria-label={t('dialect')}
          value={dialect}
          data={DIALECTS.map((value) => ({ value, label: t(`dialects.${value}`) }))}
          onChange={(value) => {
            onUrl({ dialect: value })
          }}
        />
      </div>
      {choice(t('model'), first, (model) => {
        onUrl({ model })
      })}
      {second === null ? (
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            onUrl({ with: known.find((one) => one !== first) ?? first })
          }}
          disabled={first === ''}
          title={first === '' ? t('keyFirst') : undefined}
        >
          {t('compare')}
        </Button>
      ) : (
        <>
          {choice(t('secondModel'), second, (model) => {
            onUrl({ with: model })
          })}
          <Button
            variant="subtle"
            onClick={() => {
              onUrl({ with: null })
            }}
          >
            {t('compareNot')}
          </Button>
        </>
      )}
      <div className={classes.settings}>
        <TextInput
          label={t('maxTokens')}
          inputMode="numeric"
          placeholder={t('notSent')}
          value={settings.maxTokens}
          error={props.isMaxWrong ? t('numberWrong') : undefined}
          onChange={(event) => {
            onSettings({ ...settings, maxTokens: event.currentTarget.value })
          }}
        />
        <TextInput
          label={t('temperature')}
          inputMode="decimal"
          placeholder={t('notSent')}
          value={settings.temperature}
          error={props.isTemperatureWrong ? t('numberWrong') : undefined}
          onChange={(event) => {
            onSettings({ ...settings, temperature: event.currentTarget.value })
          }}
        />
        <Textarea
          label={t('system')}
          className={classes.system ?? ''}
          rows={2}
          placeholder={t('notSent')}
          value={settings.system}
          onChange={(event) => {
            onSettings({ ...settings, system: event.currentTarget.value })
          }}
        />
      </div>
    </div>
  )
}
