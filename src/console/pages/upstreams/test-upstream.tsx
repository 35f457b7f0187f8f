import { Select } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { ResultOf } from '../../../client/index.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { Facts } from '../../parts/facts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { Duration, Nothing } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import type { Upstream } from './upstream-calls.ts'

type Outcome = ResultOf<'adminTestUpstream'>

interface TestUpstreamProps {
  readonly upstream: Upstream
  /** Chosen at first. */
  readonly keyId: string | null
  readonly onClose: () => void
}

/** Makes one small call with one key and one model, and shows what the upstream answered. */
export function TestUpstream({ upstream: { id, name, keys, models }, keyId, onClose }: TestUpstreamProps): ReactNode {
  const t = useWords('upstreams')
  const named = models.filter((one) => !one.id.endsWith('*')).map((one) => one.id)
  const [chosenKey, setChosenKey] = useState(keyId ?? keys.find(({ enabled }) => enabled)?.id ?? '')
  const [model, setModel] = useState(named[0] ?? '')
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const submission = useSubmission(['key_id', 'model'])
  const run = async (): Promise<void> => {
    setOutcome(null)
    await submission.run(async () => {
      const body = { ...(chosenKey === '' ? {} : { key_id: chosenKey }), ...(model === '' ? {} : { model }) }
      setOutcome(await call('adminTestUpstream', { params: { id }, body }, { maxRetries: 0 }))
    })
  }
  return (
    <FormDialog
      title={t('testTitle', { name })}
      act={t('testRun')}
      submission={submission}
      isDone={outcome !== null}
      onClose={onClose}
      onSubmit={() => {
        void run()
      }}
    >
      <p style={{ margin: 0 }}>{t('testAbout')}</p>
      <Select
        label={t('testKey')}
        value={chosenKey}
        error={submission.toldOf('key_id')}
        data={keys.map((key) => ({ value: key.id, label: `${key.name} (${key.credential_masked})` }))}
        allowDeselect={false}
        onChange={(value) => {
          setChosenKey(value ?? '')
        }}
      />
      <Select
        label={t('testModel')}
        value={model}
        error={submission.toldOf('model')}
        data={[...new Set(named)]}
        searchable
        allowDeselect={false}
        onChange={(value) => {
          setModel(value ?? '')
        }}
      />
      {outcome !== null && (
        <div role="status" data-testid="test-outcome">
          <Facts
            rows={[
              [
                t('testOutcome'),
                outcome.ok ? (
                  <Badge key="outcome" tone="good" icon="check">
                    {t('testOk')}
                  </Badge>
                ) : (
                  <Badge key="outcome" tone="bad" icon="alert">
                    {t('testFailed')}
                  </Badge>
                ),
              ],
              [
                t('testStatus'),
                outcome.status === null ? (
                  <Nothing key="status" why={t('testNoAnswer')} />
                ) : (
                  <code key="status">{outcome.status}</code>
                ),
              ],
              [t('testTime'), <Duration key="time" ms={outcome.latency_ms} />],
              [t('testServed'), <code key="served">{outcome.model}</code>],
              ...(outcome.error === null
                ? []
                : ([
                    [
                      t('testReason'),
                      <span key="reason">
                        {outcome.error.message} <code className="muted">{outcome.error.code}</code>
                      </span>,
                    ],
                  ] as const)),
            ]}
          />
        </div>
      )}
    </FormDialog>
  )
}
