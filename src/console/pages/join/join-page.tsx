import { Button, Textarea, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Icon } from '../../parts/icons.tsx'
import { JoinState } from '../../parts/join-state.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Failed, FormError } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { told } from '../../parts/told.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import classes from '../../parts/form.module.css'

type Found = ResultOf<'searchEnterprises'>['data'][number]
type Asked = ResultOf<'listOwnJoinRequests'>['data'][number]

const LIMIT = 50
const MAX_MESSAGE = 500
const EVERY_MS = 30_000

/** Asks an enterprise for membership, and shows what became of it. */
export function JoinPage(): ReactNode {
  const t = useWords('join')
  return (
    <Page title={t('title')} about={t('about')}>
      <section className={classes.section}>
        <Ask />
      </section>
      <section>
        <h2 style={{ margin: '0 0 8px', fontSize: 16, lineHeight: '24px', fontWeight: 600 }}>{t('asked')}</h2>
        <OwnRequests />
      </section>
    </Page>
  )
}

function Ask(): ReactNode {
  const t = useWords('join')
  const act = useSubmission(['phone'])
  const [phone, setPhone] = useState('')
  const [found, setFound] = useState<readonly Found[] | null>(null)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    await act.run(async () => {
      setFound((await call('searchEnterprises', { query: { phone: phone.trim() } })).data)
    })
  }
  return (
    <div className={classes.form}>
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          void submit(event)
        }}
      >
        <TextInput
          label={t('phone')}
          description={t('phoneHint')}
          value={phone}
          type="tel"
          autoComplete="off"
          error={act.toldOf('phone')}
          onChange={(event) => {
            setPhone(event.currentTarget.value)
            setFound(null)
            act.forget()
          }}
        />
        <FormError cause={act.cause} />
        <div>
          <Button
            type="submit"
            loading={act.isBusy}
            disabled={phone.trim() === ''}
            title={phone.trim() === '' ? t('phoneMissing') : undefined}
            leftSection={<Icon name="search" size={14} />}
          >
            {t('find')}
          </Button>
        </div>
      </form>
      {found?.length === 0 && <p className={classes.warning}>{t('nothingFound')}</p>}
      {found?.map((one) => (
        <AskOne
          key={one.id}
          enterprise={one}
          onAsked={() => {
            setFound(null)
            setPhone('')
          }}
        />
      ))}
    </div>
  )
}

function AskOne({ enterprise, onAsked }: { readonly enterprise: Found; readonly onAsked: () => void }): ReactNode {
  const t = useWords('join')
  const act = useSubmission()
  const [message, setMessage] = useState('')
  const { enterprises } = useAccount()
  const isMember = enterprises.some(({ id }) => id === enterprise.id)
  const { id, name } = enterprise
  return (
    <form
      className={classes.group}
      onSubmit={(event) => {
        event.preventDefault()
        const body = message.trim() === '' ? {} : { message: message.trim() }
        void act
          .run(async () => {
            await call('askToJoin', { params: { id }, body })
            await refresh('listOwnJoinRequests')
          })
          .then((isDone) => {
            if (!isDone) return
            toast('good', t('isAsked', { name }))
            onAsked()
          })
      }}
    >
      <strong>{name}</strong>
      {isMember ? (
        <Link href={`/e/${encodeURIComponent(id)}`}>{t('isMember')}</Link>
      ) : (
        <>
          <Textarea
            label={t('message')}
            description={t('messageHint')}
            value={message}
            maxLength={MAX_MESSAGE}
            rows={2}
            onChange={(event) => {
              setMessage(event.currentTarget.value)
            }}
          />
          <FormError cause={act.cause} />
          <div>
            <Button type="submit" loading={act.isBusy}>
              {t('ask')}
            </Button>
          </div>
        </>
      )}
    </form>
  )
}

function OwnRequests(): ReactNode {
  const t = useWords('join')
  const common = useWords('common')
  const list = useRead('listOwnJoinRequests', { query: { limit: LIMIT } }, { everyMs: EVERY_MS })
  const rows = list.data?.data
  const { enterprises } = useAccount()
  const isNews = (rows ?? []).some(
    ({ status, enterprise }) => status === 'approved' && enterprises.every(({ id }) => id !== enterprise.id),
  )
  useEffect(() => {
    // The navigation gets the enterprise.
    if (isNews) void refresh('me')
  }, [isNews])
  if (rows === undefined) {
    return list.isError ? <Failed cause={list.error} /> : <TableSkeleton label={common('loading')} />
  }
  if (rows.length === 0) return <Empty icon="building" title={t('empty')} text={t('emptyAbout')} />
  const columns: ReadonlyArray<Column<Asked>> = [
    { id: 'name', head: t('enterprise'), width: 'minmax(120px, 1fr)', cell: ({ enterprise }) => enterprise.name },
    {
      id: 'state',
      head: t('state'),
      width: '112px',
      onPhone: 'plain',
      cell: ({ status }) => <JoinState status={status} />,
    },
    {
      id: 'reason',
      head: t('answer'),
      width: 'minmax(140px, 2fr)',
      onPhone: true,
      cell: ({ reason, status }) => reason ?? <Nothing why={status === 'pending' ? t('noAnswer') : t('noReason')} />,
    },
    { id: 'at', head: t('when'), width: '104px', cell: ({ created_at: at }) => <Time at={at} isRelative /> },
    {
      id: 'withdraw',
      head: common('acts'),
      width: '104px',
      onPhone: 'plain',
      cell: (request) => (request.status === 'pending' ? <Withdraw request={request} /> : null),
    },
  ]
  return (
    <Table
      label={t('asked')}
      columns={columns}
      rows={rows}
      idOf={({ id }) => id}
      hrefOf={({ enterprise, status }) => (status === 'approved' ? `/e/${encodeURIComponent(enterprise.id)}` : '/join')}
    />
  )
}

function Withdraw({ request: { id, enterprise } }: { readonly request: Asked }): ReactNode {
  const t = useWords('join')
  return (
    // Above the link that covers the row.
    <span style={{ position: 'relative', zIndex: 1 }}>
      <Button
        size="xs"
        variant="default"
        aria-label={t('withdrawOf', { name: enterprise.name })}
        onClick={() => {
          const withdrawn = call('withdrawJoinRequest', { params: { id: enterprise.id, requestId: id } })
          told(
            withdrawn.then(() => refresh('listOwnJoinRequests')),
            () => {
              toast('good', t('withdrawn', { name: enterprise.name }))
            },
          )
        }}
      >
        {t('withdraw')}
      </Button>
    </span>
  )
}
