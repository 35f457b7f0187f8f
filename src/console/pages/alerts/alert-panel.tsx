import { Button } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Facts, Section } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed, FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Duration, Nothing, Time } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { deleteAlert, setEnabled, updateAlert, useAlertDetail } from './alert-calls.ts'
import type { Alert, Tested } from './alert-calls.ts'
import { changeOf, draftOf, errorsOf } from './alert-draft.ts'
import type { AlertDraft, DraftErrors } from './alert-draft.ts'
import { AlertFields } from './alert-form.tsx'
import { AlertState, DeliveryState } from './alert-state.tsx'
import { FIELDS } from './create-alert.tsx'
import { Secrets, secretsOf } from './secrets.tsx'
import type { ShownSecret } from './secrets.tsx'
import { useAlertTexts } from './texts.ts'
import classes from '../../parts/form.module.css'
import { SaveActs } from '../../parts/form-end.tsx'

const SHOWN_DELIVERIES = 5

interface AlertPanelProps {
  readonly scope: Scope
  readonly alertId: string
  readonly onClose: () => void
}

export function AlertPanel({ scope, alertId, onClose }: AlertPanelProps): ReactNode {
  const t = useWords('alerts')
  const { titleOf } = useAlertTexts()
  const detail = useAlertDetail(enterpriseIdOf(scope), alertId)
  const alert = detail.data?.data
  return (
    <Panel title={alert === undefined ? t('alert') : titleOf(alert)} label={t('alert')} onClose={onClose}>
      {alert !== undefined && (
        <AlertDetail key={alertId} scope={scope} alert={alert} etag={detail.data?.etag ?? null} onClose={onClose} />
      )}
      {alert === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
    </Panel>
  )
}

interface AlertDetailProps {
  readonly scope: Scope
  readonly alert: Alert
  readonly etag: string | null
  readonly onClose: () => void
}

function AlertDetail({ scope, alert, etag, onClose }: AlertDetailProps): ReactNode {
  const t = useWords('alerts')
  const words = useWords('enterprise')
  const { conditionOf, titleOf } = useAlertTexts()
  const toggle = useAlertToggle(scope)
  const test = useSubmission()
  const [tested, setTested] = useState<Tested | null>(null)
  const [isDeleting, setIsDeleting] = useState(false)
  const [secrets, setSecrets] = useState<readonly ShownSecret[]>([])
  const canManage = mayIn(scope, 'alerts.manage')
  const id = enterpriseIdOf(scope)
  return (
    <>
      <Facts
        rows={[
          [t('columns.state'), <AlertState key="state" alert={alert} />],
          [t('columns.condition'), conditionOf(alert)],
          [t('quiet'), alert.quiet === null ? t('noQuiet') : `${alert.quiet.from} – ${alert.quiet.to}`],
          [t('columns.created'), <Time key="created" at={alert.created_at} />],
          [words('id'), <Id key="id" id={alert.id} label={words('copyId')} />],
        ]}
      />
      {canManage && (
        <div className={classes.buttons}>
          <Button
            variant="default"
            loading={test.isBusy}
            leftSection={<Icon name="live" size={14} />}
            onClick={() => {
              setTested(null)
              void test.run(async () => {
                setTested(await call('testAlert', { params: { id, alertId: alert.id } }, { timeoutMs: 60_000 }))
                await refresh('listAlertDeliveries')
              })
            }}
          >
            {t('test')}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="power" size={14} />}
            onClick={() => {
              toggle(alert)
            }}
          >
            {alert.enabled ? words('turnOff') : words('turnOn')}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => {
              setIsDeleting(true)
            }}
          >
            {words('delete')}
          </Button>
        </div>
      )}
      <FormError cause={test.cause} />
      {tested !== null && <TestResult tested={tested} />}
      {alert.firing.length > 0 && <Firing scope={scope} alert={alert} />}
      <Section title={t('tabs.deliveries')}>
        <LastDeliveries scope={scope} alertId={alert.id} />
      </Section>
      <Section title={t('receivers')}>
        <Receivers scope={scope} alert={alert} onSecrets={setSecrets} />
      </Section>
      {canManage ? (
        <Section title={words('settings')}>
          <AlertSettings scope={scope} alert={alert} etag={etag} onSecrets={setSecrets} />
        </Section>
      ) : (
        <p className="muted note">{t('readOnly')}</p>
      )}
      {secrets.length > 0 && (
        <Secrets
          secrets={secrets}
          onClose={() => {
            setSecrets([])
          }}
        />
      )}
      {isDeleting && (
        <Confirm
          title={t('deleteTitle', { name: titleOf(alert) })}
          act={words('delete')}
          onClose={() => {
            setIsDeleting(false)
          }}
          onConfirm={async () => {
            await deleteAlert(id, alert.id)
            onClose()
            toast('good', t('deleted', { name: titleOf(alert) }))
          }}
          instead={
            alert.enabled ? (
              <Button
                variant="default"
                onClick={() => {
                  toggle(alert)
                  setIsDeleting(false)
                }}
              >
                {t('turnOffInstead')}
              </Button>
            ) : undefined
          }
        >
          <p>{t('deleteAbout', { count: alert.channels.length })}</p>
        </Confirm>
      )}
    </>
  )
}

/** The answer of each receiver to the test message. */
function TestResult({ tested }: { readonly tested: Tested }): ReactNode {
  const t = useWords('alerts')
  return (
    <Section title={t('testResult')}>
      <ul className={classes.list} aria-live="polite">
        {tested.channels.map(({ id, webhook, mail, ok, status, latency_ms: ms, error }) => (
          <li key={id} className={classes.item}>
            <span>
              {webhook ?? mail}
              {error !== null && (
                <>
                  <br />
                  <span className="muted note">{error}</span>
                </>
              )}
            </span>
            <Badge tone={ok ? 'good' : 'bad'} icon={ok ? 'check' : 'alert'}>
              {status === null ? (ok ? t('testOk') : t('testFailed')) : t('testStatus', { status })}
            </Badge>
            <span className="muted note">
              <Duration ms={ms} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** The values beyond their threshold now, in the words of the last message. */
function Firing({ scope, alert }: { readonly scope: Scope; readonly alert: Alert }): ReactNode {
  const t = useWords('alerts')
  const { data } = useRead('listAlertDeliveries', {
    params: { id: enterpriseIdOf(scope) },
    query: { alert_id: alert.id, limit: 100 },
  })
  return (
    <Section title={t('firing')}>
      <ul className={classes.list}>
        {alert.firing.map(({ subject, level }) => {
          const last = data?.data.find((one) => one.subject === subject)
          return (
            <li key={subject} className={classes.item}>
              <span>{last?.message ?? t('firingLevel', { level })}</span>
              {last !== undefined && <Time at={last.created_at} isRelative />}
            </li>
          )
        })}
      </ul>
      <p className="muted note">{t('firingAbout')}</p>
    </Section>
  )
}

function LastDeliveries({ scope, alertId }: { readonly scope: Scope; readonly alertId: string }): ReactNode {
  const t = useWords('alerts')
  const words = useWords('enterprise')
  const { data, isError, error } = useRead('listAlertDeliveries', {
    params: { id: enterpriseIdOf(scope) },
    query: { alert_id: alertId, limit: SHOWN_DELIVERIES },
  })
  if (isError) return <Failed cause={error} />
  if (data === undefined) return <p className="muted note">{words('counting')}</p>
  if (data.data.length === 0) return <p className="muted note">{t('noDeliveriesYet')}</p>
  return (
    <>
      <ul className={classes.list}>
        {data.data.map((delivery) => (
          <li key={delivery.id} className={classes.item}>
            <span>{delivery.message}</span>
            <DeliveryState status={delivery.status} />
            <span className="muted note">
              <Time at={delivery.created_at} isRelative />
            </span>
          </li>
        ))}
      </ul>
      <p>
        <Link href={`${pathIn(scope, '/alerts')}?tab=deliveries&alert=${encodeURIComponent(alertId)}`}>
          {t('allDeliveries')}
        </Link>
      </p>
    </>
  )
}

interface ReceiversProps {
  readonly scope: Scope
  readonly alert: Alert
  readonly onSecrets: (secrets: readonly ShownSecret[]) => void
}

function Receivers({ scope, alert, onSecrets }: ReceiversProps): ReactNode {
  const t = useWords('alerts')
  const [rotating, setRotating] = useState<string | null>(null)
  const canManage = mayIn(scope, 'alerts.manage')
  const channel = alert.channels.find(({ id }) => id === rotating)
  return (
    <>
      <ul className={classes.list}>
        {alert.channels.map(({ id, webhook, mail }) => (
          <li key={id} className={classes.item}>
            <span>{webhook ?? mail ?? <Nothing why={t('noAnswer')} />}</span>
            <span className="muted note">{webhook === null ? t('mail') : t('webhook')}</span>
            {webhook !== null && canManage && (
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  setRotating(id)
                }}
              >
                {t('rotate')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {channel !== undefined && (
        <Confirm
          title={t('rotateTitle')}
          act={t('rotate')}
          onClose={() => {
            setRotating(null)
          }}
          onConfirm={async () => {
            const params = { id: enterpriseIdOf(scope), alertId: alert.id, channelId: channel.id }
            const { secret } = await call('rotateAlertSecret', { params, body: {} })
            onSecrets([{ webhook: channel.webhook ?? '', secret }])
          }}
        >
          <p style={{ overflowWrap: 'anywhere' }}>{channel.webhook}</p>
          <p>{t('rotateAbout')}</p>
        </Confirm>
      )}
    </>
  )
}

interface AlertSettingsProps extends ReceiversProps {
  readonly etag: string | null
}

/** Edits lie over the alert as it is. */
function AlertSettings({ scope, alert, etag, onSecrets }: AlertSettingsProps): ReactNode {
  const words = useWords('enterprise')
  const act = useSubmission(FIELDS)
  const [edits, setEdits] = useState<Partial<AlertDraft>>({})
  const [errors, setErrors] = useState<DraftErrors>({})
  const draft = { ...draftOf(alert), ...edits }
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const found = errorsOf(draft)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    await act.run(async () => {
      const changed = await updateAlert(enterpriseIdOf(scope), alert.id, changeOf(draft), etag)
      setEdits({})
      toast('good', words('changed'))
      onSecrets(secretsOf(changed))
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
      <AlertFields
        draft={draft}
        errors={errors}
        toldOf={act.toldOf}
        isNew={false}
        onChange={(change) => {
          setEdits({ ...edits, ...change })
          setErrors({})
        }}
      />
      <SaveActs
        isEdited={Object.keys(edits).length > 0}
        isBusy={act.isBusy}
        cause={act.cause}
        onDiscard={() => {
          setEdits({})
          setErrors({})
          act.forget()
        }}
      />
    </form>
  )
}

/** Turns an alert off or on, with a way back. */
export function useAlertToggle(scope: Scope): (alert: Alert) => void {
  const t = useWords('alerts')
  const { titleOf } = useAlertTexts()
  const id = enterpriseIdOf(scope)
  return (alert) => {
    const name = titleOf(alert)
    told(setEnabled(id, alert.id, !alert.enabled), () => {
      toast('good', t(alert.enabled ? 'turnedOff' : 'turnedOn', { name }), () => {
        told(setEnabled(id, alert.id, alert.enabled))
      })
    })
  }
}
