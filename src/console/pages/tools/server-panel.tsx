import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { ResultOf } from '../../../client/index.ts'
import { useDetail } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { amountOf, microOf } from '../../format/money.ts'
import { countOf, exact } from '../../format/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { EditForm } from '../../parts/form-dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed, FormError } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Duration, Money, Nothing, TimeOr, useLocale } from '../../parts/values.tsx'
import { useCurrency } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { accessDraftOf, accessError, accessOf } from './access-draft.ts'
import type { AccessDraft } from './access-draft.ts'
import { AccessFields } from './access-fields.tsx'
import { AccessText } from './access-text.tsx'
import { ServerState } from './server-state.tsx'
import { changeServer, deleteServer, rereadServer } from './tool-calls.ts'
import type { ToolServer, ToolServerChange } from './tool-calls.ts'
import { ToolList } from './tool-list.tsx'
import form from '../../parts/form.module.css'
import layout from '../../parts/layout.module.css'

interface ServerPanelProps {
  readonly id: string
  readonly onClose: () => void
}

export function ServerPanel({ id, onClose }: ServerPanelProps): ReactNode {
  const t = useWords('tools')
  const detail = useDetail('adminGetToolServer', { params: { id } })
  const shown = detail.data?.data
  return (
    <Panel title={id} label={t('server')} onClose={onClose} width={640}>
      {shown !== undefined && <Detail key={id} shown={shown} etag={detail.data?.etag ?? null} onClose={onClose} />}
      {shown === undefined && detail.isError && (
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

interface DetailProps {
  readonly shown: ToolServer
  readonly etag: string | null
  readonly onClose: () => void
}

type Outcome = ResultOf<'adminTestToolServer'>

function Detail({ shown, etag, onClose }: DetailProps): ReactNode {
  const t = useWords('tools')
  const locale = useLocale()
  const [isDeleting, setIsDeleting] = useState(false)
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const asked = useSubmission()
  const isStored = shown.source === 'stored'
  const test = async (): Promise<void> => {
    setOutcome(null)
    await asked.run(async () => {
      setOutcome(await call('adminTestToolServer', { params: { id: shown.id } }, { maxRetries: 0 }))
    })
  }
  const reread = async (): Promise<void> => {
    if (await asked.run(() => rereadServer(shown.id))) toast('good', t('reread'))
  }
  const toggle = (enabled: boolean): void => {
    changeServer(shown.id, { enabled }, null).then(
      () => {
        toast('good', t(enabled ? 'turnedOn' : 'turnedOff', { id: shown.id }))
      },
      (cause: unknown) => {
        tellFailure(cause)
      },
    )
  }
  return (
    <>
      <Facts
        rows={[
          [t('columns.state'), <ServerState key="state" state={shown.state} />],
          [t('columns.url'), shown.url ?? <Nothing key="url" why={t('program')} />],
          [t('fields.transport'), t(`transports.${shown.transport}`)],
          [t('fields.headers'), shown.headers.length === 0 ? t('none') : shown.headers.join(', ')],
          [t('fields.access'), <AccessText key="access" access={shown.access} />],
          [t('longestCall'), <Duration key="timeout" ms={shown.timeout_ms} />],
          [t('fields.price_micro'), <Money key="price" micro={shown.price_micro} />],
          [t('columns.source'), t(`sources.${shown.source}`)],
          [t('changedAt'), <TimeOr key="changed" at={shown.updated_at} why={t('ofFile')} isRelative />],
        ]}
      />
      <div className={layout.acts}>
        <Button
          variant="default"
          loading={asked.isBusy}
          leftSection={<Icon name="pulse" size={14} />}
          onClick={() => {
            void test()
          }}
        >
          {t('test')}
        </Button>
        <Button
          variant="default"
          disabled={asked.isBusy}
          leftSection={<Icon name="refresh" size={14} />}
          onClick={() => {
            void reread()
          }}
        >
          {t('readAgain')}
        </Button>
        {isStored && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              onClick={() => {
                toggle(!shown.enabled)
              }}
            >
              {shown.enabled ? t('turnOff') : t('turnOn')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setIsDeleting(true)
              }}
            >
              {t('delete')}
            </Button>
          </>
        )}
      </div>
      <FormError cause={asked.cause} />
      {outcome !== null && (
        <p role="status" className={layout.inline} style={{ margin: '8px 0' }}>
          {outcome.ok ? (
            <Badge tone="good" icon="check">
              {t('testOk')}
            </Badge>
          ) : (
            <Badge tone="bad" icon="alert">
              {t('testFailed')}
            </Badge>
          )}
          {outcome.error === null
            ? t('testTools', { tools: exact(outcome.tools ?? 0, locale) })
            : `${outcome.error.message} (${outcome.error.code})`}
          <Duration ms={outcome.latency_ms} />
        </p>
      )}
      <Section title={t('tools')}>
        <ToolList serverId={shown.id} />
      </Section>
      <Section title={t('settings')}>
        {isStored ? <Settings shown={shown} etag={etag} /> : <p className={layout.note}>{t('ofFile')}</p>}
      </Section>
      {isDeleting && (
        <Confirm
          title={t('deleteTitle', { id: shown.id })}
          act={t('delete')}
          name={shown.id}
          onClose={() => {
            setIsDeleting(false)
          }}
          onConfirm={async () => {
            await deleteServer(shown.id)
            onClose()
            toast('good', t('deleted', { id: shown.id }))
          }}
          instead={
            shown.enabled ? (
              <Button
                variant="default"
                onClick={() => {
                  toggle(false)
                  setIsDeleting(false)
                }}
              >
                {t('turnOffInstead')}
              </Button>
            ) : undefined
          }
        >
          <p>{t('deleteAbout')}</p>
          <p>
            <strong>{t('loss', { tools: exact(shown.tools.allowed, locale) })}</strong>
          </p>
        </Confirm>
      )}
    </>
  )
}

type Text = 'url' | 'authorization' | 'timeout_ms' | 'price_micro'

interface Edits extends Partial<Record<Text, string>> {
  readonly access?: AccessDraft
}

function Settings({ shown, etag }: Pick<DetailProps, 'shown' | 'etag'>): ReactNode {
  const t = useWords('tools')
  const currency = useCurrency()
  const [edits, setEdits] = useState<Edits>({})
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(['url', 'headers', 'timeout_ms', 'price_micro', 'access'])
  const access = edits.access ?? accessDraftOf(shown.access)
  const wrongAccess = accessError(access)
  const stored: Readonly<Record<Text, string>> = {
    url: shown.url ?? '',
    authorization: '',
    timeout_ms: String(shown.timeout_ms),
    price_micro: amountOf(shown.price_micro),
  }
  const isWrong = {
    timeout_ms: edits.timeout_ms !== undefined && countOf(edits.timeout_ms) === null,
    price_micro: edits.price_micro !== undefined && microOf(edits.price_micro) === null,
  }
  const field = (name: Text) => ({
    label: t(`fields.${name}`),
    value: edits[name] ?? stored[name],
    error: submission.toldOf(name === 'authorization' ? 'headers' : name),
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setEdits({ ...edits, [name]: event.currentTarget.value })
    },
  })
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (isWrong.timeout_ms || isWrong.price_micro || (edits.access !== undefined && wrongAccess !== null)) return
    const { url, authorization, timeout_ms: timeout, price_micro: price } = edits
    const body: ToolServerChange = {
      ...(url === undefined ? {} : { url: url.trim() }),
      ...(authorization === undefined || authorization === '' ? {} : { headers: { authorization } }),
      ...(timeout === undefined ? {} : { timeout_ms: countOf(timeout) ?? shown.timeout_ms }),
      ...(price === undefined ? {} : { price_micro: microOf(price) ?? shown.price_micro }),
      ...(edits.access === undefined ? {} : { access: accessOf(edits.access) }),
    }
    if (!(await submission.run(() => changeServer(shown.id, body, etag)))) return
    setEdits({})
    setIsChecked(false)
    toast('good', t('changed', { id: shown.id }))
  }
  return (
    <EditForm
      submission={submission}
      isEdited={Object.keys(edits).length > 0}
      onDiscard={() => {
        setEdits({})
        setIsChecked(false)
      }}
      onSubmit={() => {
        void submit()
      }}
    >
      <TextInput {...field('url')} inputMode="url" />
      <PasswordInput
        {...field('authorization')}
        description={t('hints.authorizationKept')}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('showCredential') }}
      />
      <div className={form.pair}>
        <TextInput
          {...field('timeout_ms')}
          error={isChecked && isWrong.timeout_ms ? t('errors.count') : submission.toldOf('timeout_ms')}
          inputMode="numeric"
        />
        <TextInput
          {...field('price_micro')}
          error={isChecked && isWrong.price_micro ? t('errors.amount') : submission.toldOf('price_micro')}
          inputMode="decimal"
          rightSection={currency}
          rightSectionWidth={48}
        />
      </div>
      <AccessFields
        access={access}
        isChecked={isChecked}
        error={isChecked && wrongAccess === 'noRules' ? t('errors.noRules') : submission.toldOf('access')}
        onChange={(next) => {
          setEdits({ ...edits, access: next })
        }}
      />
    </EditForm>
  )
}
