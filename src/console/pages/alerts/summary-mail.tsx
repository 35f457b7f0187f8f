import { SegmentedControl, TagsInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { mayIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import classes from '../../parts/form.module.css'
import { SaveActs } from '../../parts/form-end.tsx'

const FREQUENCIES = ['off', 'daily', 'weekly'] as const
type Frequency = (typeof FREQUENCIES)[number]

/** The summary mail: its receivers, and how often they get it. */
export function SummaryMail({ scope }: { readonly scope: Scope }): ReactNode {
  const t = useWords('alerts')
  const common = useWords('common')
  const words = useWords('enterprise')
  const act = useSubmission(['recipients'])
  const params = { id: enterpriseIdOf(scope) }
  const stored = useRead('getSummary', { params })
  const [edits, setEdits] = useState<{ frequency?: Frequency; recipients?: string[] }>({})
  if (stored.data === undefined) {
    return stored.isError ? <Failed cause={stored.error} /> : <TableSkeleton label={common('loading')} />
  }
  const canManage = mayIn(scope, 'alerts.manage')
  const { frequency, recipients } = { ...stored.data, ...edits }
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    await act.run(async () => {
      await call('updateSummary', { params, body: { frequency, recipients } })
      await refresh('getSummary')
      setEdits({})
      toast('good', words('changed'))
    })
  }
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={(event) => {
        void submit(event)
      }}
    >
      <p className={classes.text}>{t('summaryAbout')}</p>
      <div>
        <SegmentedControl
          aria-label={t('frequency')}
          value={frequency}
          disabled={!canManage}
          data={FREQUENCIES.map((value) => ({ value, label: t(`frequencies.${value}`) }))}
          onChange={(value) => {
            setEdits({ ...edits, frequency: value })
          }}
        />
      </div>
      <TagsInput
        label={t('recipients')}
        description={t('recipientsHint')}
        value={recipients}
        disabled={!canManage}
        error={act.toldOf('recipients')}
        splitChars={[',', ';', ' ']}
        acceptValueOnBlur
        onChange={(value) => {
          setEdits({ ...edits, recipients: value })
        }}
      />
      <SaveActs
        isEdited={Object.keys(edits).length > 0}
        isBusy={act.isBusy}
        cause={act.cause}
        onDiscard={() => {
          setEdits({})
          act.forget()
        }}
      />
    </form>
  )
}
