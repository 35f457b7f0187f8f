import { Button, Modal, Select } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { failureOf } from '../../api/failures.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { FormEnd, SaveActs } from '../../parts/form-end.tsx'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { Money, Time, TimeOr, useLocale } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { deleteKey, rotateKey, updateKey, useKeyDetail, useRecentUse } from './key-calls.ts'
import type { AnyKey, NewKey } from './key-calls.ts'
import { bodyOf, draftOf, EMPTY_DRAFT, errorsOf } from './key-draft.ts'
import type { DraftErrors, KeyDraft } from './key-draft.ts'
import { KeyFields } from './key-form.tsx'
import { KeyState } from './key-state.tsx'
import { ShownOnce } from './shown-once.tsx'
import { useToggle } from './use-toggle.ts'
import classes from './key-form.module.css'

const A_DAY = '86400'
/** Seconds. */
const GRACES = ['0', '3600', '86400', '604800'] as const

interface KeyPanelProps {
  readonly scope: Scope
  readonly keyId: string
  readonly onClose: () => void
}

export function KeyPanel({ scope, keyId, onClose }: KeyPanelProps): ReactNode {
  const t = useWords('keys')
  const detail = useKeyDetail(scope, keyId)
  const key = detail.data?.data
  return (
    <Panel title={key?.name ?? t('key')} label={t('key')} onClose={onClose}>
      {key !== undefined && (
        <KeyDetail key={keyId} scope={scope} shown={key} etag={detail.data?.etag ?? null} onClose={onClose} />
      )}
      {key === undefined && detail.isError && (
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

interface KeyDetailProps {
  readonly scope: Scope
  readonly shown: AnyKey
  readonly etag: string | null
  readonly onClose: () => void
}

type Dialog = 'rotate' | 'delete'

function KeyDetail({ scope, shown, etag, onClose }: KeyDetailProps): ReactNode {
  const t = useWords('keys')
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const toggle = useToggle(scope)
  const canManage = mayIn(scope, 'keys.manage')
  const canSeeLog = mayIn(scope, 'logs.read')
  const close = (): void => {
    setDialog(null)
  }
  return (
    <>
      <Facts
        rows={[
          [t('columns.state'), <KeyState key="state" shown={shown} />],
          [t('columns.key'), <code key="key">{shown.key_masked}</code>],
          [t('columns.spend'), <SpendMeter key="spend" spend={shown.spend} />],
          ...forecastRow(shown, t('forecast')),
          [t('columns.lastUsed'), <TimeOr key="used" at={shown.last_used_at} why={t('neverUsed')} isRelative />],
          [t('columns.created'), <Time key="created" at={shown.created_at} />],
          [t('expires'), <TimeOr key="expires" at={shown.expires_at} why={t('neverExpires')} />],
          ...(shown.old_key_until === null
            ? []
            : [[t('oldKeyUntil'), <Time key="old" at={shown.old_key_until} />] as const]),
          [t('id'), <Id key="id" id={shown.id} label={t('copyId')} />],
        ]}
      />
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, margin: '12px 0 4px' }}>
        {canSeeLog && (
          <Button
            variant="default"
            component={Link}
            href={`${pathIn(scope, '/requests')}?key=${encodeURIComponent(shown.id)}`}
            leftSection={<Icon name="list" size={14} />}
          >
            {t('seeRequests')}
          </Button>
        )}
        {canManage && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              onClick={() => {
                toggle(shown)
              }}
            >
              {shown.enabled ? t('turnOff') : t('turnOn')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="rotate" size={14} />}
              onClick={() => {
                setDialog('rotate')
              }}
            >
              {t('rotate')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setDialog('delete')
              }}
            >
              {t('delete')}
            </Button>
          </>
        )}
      </div>
      {canManage ? (
        <Section title={t('settings')}>
          <KeySettings scope={scope} shown={shown} etag={etag} />
        </Section>
      ) : (
        <p className="muted note">{t('readOnly')}</p>
      )}
      {dialog === 'rotate' && <RotateKey scope={scope} shown={shown} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteKey
          scope={scope}
          shown={shown}
          onClose={close}
          onDeleted={() => {
            onClose()
            toast('good', t('deleted', { name: shown.name }))
          }}
        />
      )}
    </>
  )
}

function forecastRow(shown: AnyKey, name: string): ReadonlyArray<readonly [string, ReactNode]> {
  const forecast = shown.spend?.forecast ?? null
  return forecast === null ? [] : [[name, <Money key="forecast" micro={forecast} />]]
}

/** Edits lie over the key as it is: a change by somebody else meanwhile touches only what is not edited. */
function KeySettings({ scope, shown, etag }: Omit<KeyDetailProps, 'onClose'>): ReactNode {
  const t = useWords('keys')
  const { zone, now } = useZone()
  const [edits, setEdits] = useState<Partial<KeyDraft>>({})
  const [errors, setErrors] = useState<DraftErrors>({})
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const base = draftOf(shown, zone)
  const isEdited = Object.keys(edits).length > 0
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const found = errorsOf(edits, zone, now)
    setErrors(found)
    setCause(null)
    if (Object.keys(found).length > 0) return
    setIsBusy(true)
    try {
      await updateKey(scope, shown.id, bodyOf(edits, zone), etag)
      setEdits({})
      toast('good', t('changed'))
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  const failure = cause === null ? null : failureOf(cause)
  const field = failure?.field ?? null
  const isAtField = field !== null && Object.hasOwn(EMPTY_DRAFT, field)
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={(event) => {
        void submit(event)
      }}
    >
      <KeyFields
        scope={scope}
        draft={{ ...base, ...edits }}
        errors={errors}
        told={isAtField ? { field, text: failure?.detail ?? failure?.title ?? '' } : null}
        isOpen
        onChange={(change) => {
          setEdits({ ...edits, ...change })
          setErrors({})
        }}
      />
      <SaveActs
        isEdited={isEdited}
        isBusy={isBusy}
        cause={isAtField ? null : cause}
        onDiscard={() => {
          setEdits({})
          setErrors({})
          setCause(null)
        }}
      />
    </form>
  )
}

interface KeyDialogProps {
  readonly scope: Scope
  readonly shown: AnyKey
  readonly onClose: () => void
}

function RotateKey({ scope, shown, onClose }: KeyDialogProps): ReactNode {
  const t = useWords('keys')
  const common = useWords('common')
  const [grace, setGrace] = useState<string>(A_DAY)
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  const rotate = async (): Promise<void> => {
    setIsBusy(true)
    setCause(null)
    try {
      setMade(await rotateKey(scope, shown.id, Number(grace)))
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Modal
      opened
      onClose={onClose}
      size={made === null ? 480 : 640}
      title={made === null ? t('rotateTitle', { name: shown.name }) : t('rotated', { name: shown.name })}
      closeOnClickOutside={false}
      closeOnEscape={made === null}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <div className={classes.form}>
        {made === null ? (
          <>
            <p className={classes.text}>{t('rotateAbout')}</p>
            <Select
              label={t('grace')}
              description={t('graceHint')}
              value={grace}
              data={GRACES.map((seconds) => ({ value: seconds, label: t(`graces.${seconds}`) }))}
              onChange={(value) => {
                setGrace(value ?? grace)
              }}
            />
            <FormEnd cause={cause}>
              <Button variant="default" onClick={onClose}>
                {common('cancel')}
              </Button>
              <Button
                loading={isBusy}
                onClick={() => {
                  void rotate()
                }}
              >
                {t('rotate')}
              </Button>
            </FormEnd>
          </>
        ) : (
          <>
            {made.old_key_until !== null && (
              <p className={classes.text}>
                {t('oldKeyUntil')} <Time at={made.old_key_until} />
              </p>
            )}
            <ShownOnce scope={scope} secret={made.key} models={made.models} />
            <div className={classes.acts}>
              <Button variant="default" onClick={onClose}>
                {t('saved')}
              </Button>
            </div>
          </>
        )}
      </div>
    </Modal>
  )
}

export function DeleteKey({
  scope,
  shown,
  onClose,
  onDeleted,
}: KeyDialogProps & { readonly onDeleted: () => void }): ReactNode {
  const t = useWords('keys')
  const locale = useLocale()
  const use = useRecentUse(scope, shown.id)
  const toggle = useToggle(scope)
  return (
    <Confirm
      title={t('deleteTitle', { name: shown.name })}
      act={t('delete')}
      name={shown.name}
      onClose={onClose}
      onConfirm={async () => {
        await deleteKey(scope, shown.id)
        onDeleted()
      }}
      instead={
        shown.enabled ? (
          <Button
            variant="default"
            onClick={() => {
              toggle(shown)
              onClose()
            }}
          >
            {t('turnOffInstead')}
          </Button>
        ) : undefined
      }
    >
      <p>{t('deleteAbout')}</p>
      <p>
        <strong>
          {use.data === undefined
            ? t('deleteCounting')
            : use.data.requests === 0
              ? t('deleteUnused')
              : t('deleteLoss', { requests: exact(use.data.requests, locale) })}
        </strong>
        {shown.last_used_at !== null && (
          <>
            {' '}
            {t('lastUse')} <Time at={shown.last_used_at} isRelative />
          </>
        )}
      </p>
    </Confirm>
  )
}
