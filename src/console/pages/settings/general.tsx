import { Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { SaveActs } from '../../parts/form-end.tsx'
import { Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { useDraft } from './section-draft.ts'
import type { SettingsProps } from './section-draft.ts'
import classes from '../../parts/form.module.css'

interface GeneralDraft {
  readonly name: string
  readonly time_zone: string
}

export function General(props: SettingsProps): ReactNode {
  const { enterprise } = props
  const t = useWords('settings')
  const [edits, setEdits] = useState<Partial<GeneralDraft>>({})
  const values: GeneralDraft = { name: enterprise.name, time_zone: enterprise.time_zone, ...edits }
  const isNameless = values.name.trim() === ''
  const draft = useDraft<GeneralDraft>(
    props,
    ['name', 'time_zone'],
    edits,
    () => {
      setEdits({})
    },
    () => (isNameless ? null : { ...edits, ...(edits.name === undefined ? {} : { name: edits.name.trim() }) }),
  )
  return (
    <form className={classes.form} noValidate onSubmit={draft.save}>
      <TextInput
        label={t('name')}
        value={values.name}
        maxLength={100}
        autoComplete="off"
        error={isNameless ? t('nameMissing') : draft.toldOf('name')}
        onChange={(event) => {
          setEdits({ ...edits, name: event.currentTarget.value })
        }}
      />
      <Select
        label={t('zone')}
        description={t('zoneHint')}
        value={values.time_zone}
        searchable
        limit={100}
        data={zones(enterprise.time_zone)}
        error={draft.toldOf('time_zone')}
        onChange={(zone) => {
          if (zone !== null) setEdits({ ...edits, time_zone: zone })
        }}
      />
      <SaveActs {...draft.acts} />
      <GeneralFacts {...props} isShort />
    </form>
  )
}

function zones(known: string): string[] {
  return [...new Set([known, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

export function GeneralFacts({
  enterprise,
  isShort = false,
}: SettingsProps & { readonly isShort?: boolean }): ReactNode {
  const t = useWords('settings')
  const words = useWords('enterprise')
  return (
    <Facts
      rows={[
        ...(isShort
          ? []
          : ([
              [t('name'), enterprise.name],
              [t('zone'), enterprise.time_zone],
            ] as const)),
        [t('currency'), enterprise.currency],
        [t('payment'), enterprise.is_prepaid ? t('prepaid') : t('postpaid')],
        [t('created'), <Time key="created" at={enterprise.created_at} />],
        [words('id'), <Id key="id" id={enterprise.id} label={words('copyId')} />],
      ]}
    />
  )
}
