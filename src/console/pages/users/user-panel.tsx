import { Button, PasswordInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useDetail, useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { EditForm } from '../../parts/form-dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Count, Money, Nothing, Time, useLocale } from '../../parts/values.tsx'
import { pathIn, useAccount } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { changeUser, deleteUser, resetTotp } from './user-calls.ts'
import type { User, UserChange } from './user-calls.ts'
import { UserState } from './user-state.tsx'
import layout from '../../parts/layout.module.css'

interface UserPanelProps {
  readonly scope: Scope
  readonly id: string
  readonly onClose: () => void
}

export function UserPanel({ scope, id, onClose }: UserPanelProps): ReactNode {
  const t = useWords('users')
  const detail = useDetail('adminGetUser', { params: { id } })
  const shown = detail.data?.data
  return (
    <Panel title={shown?.name ?? t('user')} label={t('user')} onClose={onClose}>
      {shown !== undefined && (
        <Detail key={id} scope={scope} shown={shown} etag={detail.data?.etag ?? null} onClose={onClose} />
      )}
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
  readonly scope: Scope
  readonly shown: User
  readonly etag: string | null
  readonly onClose: () => void
}

type Dialog = 'disable' | 'delete' | 'totp'

function Detail({ scope, shown, etag, onClose }: DetailProps): ReactNode {
  const t = useWords('users')
  const account = useAccount()
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const isSelf = shown.id === account.id
  const isDeleted = shown.status === 'deleted'
  const why = isSelf ? t('notYourself') : undefined
  const close = (): void => {
    setDialog(null)
  }
  const enable = (): void => {
    changeUser(shown.id, { status: 'active' }, null).then(
      () => {
        toast('good', t('turnedOn', { name: shown.name }))
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
          [t('columns.state'), <UserState key="state" status={shown.status} />],
          [t('columns.role'), t(`roles.${shown.role}`)],
          [t('columns.phone'), shown.phone ?? <Nothing key="phone" why={t('noPhone')} />],
          [
            t('columns.email'),
            shown.email === null ? (
              <Nothing key="email" why={t('noEmail')} />
            ) : (
              <span key="email">
                {shown.email}{' '}
                <span className="muted">{t(shown.email_verified ? 'emailVerified' : 'emailNotVerified')}</span>
              </span>
            ),
          ],
          [t('columns.created'), <Time key="created" at={shown.created_at} />],
          ...(shown.deleted_at === null
            ? []
            : ([[t('deletedAt'), <Time key="deleted" at={shown.deleted_at} />]] as const)),
          [t('id'), <Id key="id" id={shown.id} label={t('copyId')} />],
        ]}
      />
      <Use id={shown.id} />
      <div className={layout.acts}>
        <Button
          variant="default"
          component={Link}
          href={`${pathIn(scope, '/requests')}?user=${encodeURIComponent(shown.id)}`}
          leftSection={<Icon name="list" size={14} />}
        >
          {t('seeRequests')}
        </Button>
        {!isDeleted && (
          <>
            <Button
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              disabled={isSelf}
              title={why}
              onClick={() => {
                if (shown.status === 'active') setDialog('disable')
                else enable()
              }}
            >
              {shown.status === 'active' ? t('disable') : t('enable')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="shield" size={14} />}
              onClick={() => {
                setDialog('totp')
              }}
            >
              {t('resetTotp')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              disabled={isSelf}
              title={why}
              onClick={() => {
                setDialog('delete')
              }}
            >
              {t('delete')}
            </Button>
          </>
        )}
      </div>
      {!isDeleted && (
        <Section title={t('settings')}>
          <UserSettings shown={shown} etag={etag} isSelf={isSelf} />
        </Section>
      )}
      {dialog === 'disable' && (
        <Confirm
          title={t('disableTitle', { name: shown.name })}
          act={t('disable')}
          onClose={close}
          onConfirm={async () => {
            await changeUser(shown.id, { status: 'disabled' }, null)
            toast('good', t('turnedOff', { name: shown.name }), enable)
          }}
        >
          <p>{t('disableAbout')}</p>
          <Loss id={shown.id} />
        </Confirm>
      )}
      {dialog === 'totp' && (
        <Confirm
          title={t('totpTitle', { name: shown.name })}
          act={t('resetTotp')}
          onClose={close}
          onConfirm={async () => {
            await resetTotp(shown.id)
            toast('good', t('totpReset', { name: shown.name }))
          }}
        >
          <p>{t('totpAbout')}</p>
        </Confirm>
      )}
      {dialog === 'delete' && (
        <Confirm
          title={t('deleteTitle', { name: shown.name })}
          act={t('delete')}
          name={shown.name}
          onClose={close}
          onConfirm={async () => {
            await deleteUser(shown.id)
            onClose()
            toast('good', t('deleted', { name: shown.name }))
          }}
          instead={
            shown.status === 'active' ? (
              <Button
                variant="default"
                onClick={() => {
                  setDialog('disable')
                }}
              >
                {t('disableInstead')}
              </Button>
            ) : undefined
          }
        >
          <p>{t('deleteAbout')}</p>
          <Loss id={shown.id} />
        </Confirm>
      )}
    </>
  )
}

function useWeek(id: string) {
  const keys = useRead('adminKeyStats', { query: { user_id: id, period: '7d', limit: 1 } })
  const usage = useRead('adminUsage', { query: { user_id: id, period: '7d' } })
  return { keys: keys.data?.total, totals: usage.data?.totals }
}

/** The requests of the user in the last week. */
function Use({ id }: { readonly id: string }): ReactNode {
  const t = useWords('users')
  const { keys, totals } = useWeek(id)
  if (keys === undefined || totals === undefined) return null
  return (
    <Facts
      rows={[
        [t('keysUsed'), <Count key="keys" value={keys} />],
        [t('requestsWeek'), <Count key="requests" value={totals.requests} />],
        [t('costWeek'), <Money key="cost" micro={totals.cost} />],
      ]}
    />
  )
}

/** The user's keys, and the requests of the last week: they are lost with the user. */
function Loss({ id }: { readonly id: string }): ReactNode {
  const t = useWords('users')
  const locale = useLocale()
  const { keys, totals } = useWeek(id)
  return (
    <p>
      <strong>
        {keys === undefined || totals === undefined
          ? t('counting')
          : t('loss', { keys: exact(keys, locale), requests: exact(totals.requests, locale) })}
      </strong>
    </p>
  )
}

interface UserSettingsProps {
  readonly shown: User
  readonly etag: string | null
  readonly isSelf: boolean
}

const FIELDS = ['name', 'email', 'role', 'password'] as const
type Field = (typeof FIELDS)[number]
const MIN_PASSWORD = 10

function UserSettings({ shown, etag, isSelf }: UserSettingsProps): ReactNode {
  const t = useWords('users')
  const [edits, setEdits] = useState<Partial<Record<Field, string>>>({})
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(FIELDS)
  const isShort = edits.password !== undefined && edits.password !== '' && edits.password.length < MIN_PASSWORD
  const field = (name: Field, value: string) => ({
    label: t(`fields.${name}`),
    value: edits[name] ?? value,
    error: submission.toldOf(name),
    autoComplete: 'off',
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
      setEdits({ ...edits, [name]: event.currentTarget.value })
    },
  })
  const discard = (): void => {
    setEdits({})
    setIsChecked(false)
  }
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    const { name, email, role, password } = edits
    if (isShort || name?.trim() === '') return
    const body: UserChange = {
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(email === undefined ? {} : { email: email.trim() === '' ? null : email.trim() }),
      ...(role === undefined ? {} : { role: role === 'admin' ? 'admin' : 'user' }),
      ...(password === undefined || password === '' ? {} : { password }),
    }
    if (!(await submission.run(() => changeUser(shown.id, body, etag)))) return
    discard()
    toast('good', t('changed', { name: name?.trim() ?? shown.name }))
  }
  const role = edits.role ?? shown.role
  return (
    <EditForm
      submission={submission}
      isEdited={Object.keys(edits).length > 0}
      onDiscard={discard}
      onSubmit={() => {
        void submit()
      }}
    >
      <TextInput
        {...field('name', shown.name)}
        error={isChecked && edits.name?.trim() === '' ? t('errors.name') : submission.toldOf('name')}
        maxLength={100}
      />
      <TextInput {...field('email', shown.email ?? '')} description={t('hints.email')} inputMode="email" />
      <Select
        label={t('fields.role')}
        description={isSelf ? t('notYourself') : t(`rolesAbout.${role === 'admin' ? 'admin' : 'user'}`)}
        value={role}
        error={submission.toldOf('role')}
        disabled={isSelf}
        allowDeselect={false}
        data={(['user', 'admin'] as const).map((value) => ({ value, label: t(`roles.${value}`) }))}
        onChange={(value) => {
          setEdits({ ...edits, role: value ?? shown.role })
        }}
      />
      {!isSelf && (
        <PasswordInput
          {...field('password', '')}
          label={t('newPassword')}
          description={t('hints.newPassword')}
          error={isChecked && isShort ? t('errors.password') : submission.toldOf('password')}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
        />
      )}
    </EditForm>
  )
}
