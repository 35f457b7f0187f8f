import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Failed, FormError } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { told } from '../../parts/told.ts'
import { Nothing, Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'

type Connection = ResultOf<'listToolConnections'>['data'][number]

const PATH = '/connect'
const LIMIT = 100

/** Connects own accounts with tool servers. Links of tools lead here, and authorization servers send the browser back here. */
export function ConnectPage({ open }: PageProps): ReactNode {
  const t = useWords('connect')
  const common = useWords('common')
  const list = useRead('listToolConnections', { query: { limit: LIMIT } })
  const rows = list.data?.data
  const asked = rows?.find(({ id }) => id === open)
  return (
    <Page title={t('title')} about={t('about')}>
      <Finish />
      {asked !== undefined && asked.state !== 'connected' && <Ask id={asked.id} />}
      {rows === undefined &&
        (list.isError ? <Failed cause={list.error} /> : <TableSkeleton label={common('loading')} />)}
      {rows?.length === 0 && <Empty icon="tool" title={t('empty')} text={t('emptyAbout')} />}
      {rows !== undefined && rows.length > 0 && <Connections rows={rows} />}
    </Page>
  )
}

/** The browser is back, with a code or a refusal behind the `#`. */
function Finish(): ReactNode {
  const t = useWords('connect')
  const [, navigate] = useLocation()
  const [cause, setCause] = useState<unknown>(null)
  const [refusal, setRefusal] = useState<string | null>(null)
  useEffect(() => {
    const answer = new URLSearchParams(location.hash.slice(1))
    const [code, state, iss, error] = ['code', 'state', 'iss', 'error'].map((name) => answer.get(name))
    if (location.hash === '') return
    // A code counts once, and nobody needs to read it from the address.
    history.replaceState(history.state, '', location.pathname)
    if (typeof code !== 'string' || typeof state !== 'string') {
      queueMicrotask(() => {
        setRefusal(error ?? '')
      })
      return
    }
    const body = { code, state, ...(typeof iss === 'string' ? { iss } : {}) }
    call('finishToolConnection', { body }).then(async ({ id }) => {
      toast('good', t('isConnected', { server: id }))
      await refresh('listToolConnections')
      navigate(PATH, { replace: true })
    }, setCause)
  }, [navigate, t])
  if (refusal !== null) return <p role="alert">{t('refused', { reason: refusal })}</p>
  return cause === null ? null : <FormError cause={cause} />
}

function Ask({ id }: { readonly id: string }): ReactNode {
  const t = useWords('connect')
  const act = useSubmission()
  return (
    <section>
      <p>{t('ask', { server: id })}</p>
      <FormError cause={act.cause} />
      <Button
        loading={act.isBusy}
        onClick={() => {
          void act.run(() => authorise(id))
        }}
      >
        {t('connect')}
      </Button>
    </section>
  )
}

function Connections({ rows }: { readonly rows: readonly Connection[] }): ReactNode {
  const t = useWords('connect')
  const common = useWords('common')
  const columns: ReadonlyArray<Column<Connection>> = [
    { id: 'id', head: t('server'), width: 'minmax(120px, 1fr)', cell: ({ id }) => id },
    { id: 'state', head: t('state'), width: '160px', onPhone: 'plain', cell: ({ state }) => t(`states.${state}`) },
    {
      id: 'at',
      head: t('since'),
      width: '120px',
      onPhone: true,
      cell: ({ connected_at: at }) => (at === null ? <Nothing why={t('states.none')} /> : <Time at={at} isRelative />),
    },
    { id: 'act', head: common('acts'), width: '120px', onPhone: 'plain', cell: (row) => <Act connection={row} /> },
  ]
  return (
    <Table
      label={t('title')}
      columns={columns}
      rows={rows}
      idOf={({ id }) => id}
      hrefOf={({ id }) => `${PATH}/${encodeURIComponent(id)}`}
    />
  )
}

function Act({ connection: { id, state } }: { readonly connection: Connection }): ReactNode {
  const t = useWords('connect')
  const isConnected = state !== 'none'
  return (
    // Above the link that covers the row.
    <span style={{ position: 'relative', zIndex: 1 }}>
      <Button
        size="xs"
        variant="default"
        aria-label={t(isConnected ? 'disconnectOf' : 'connectOf', { server: id })}
        onClick={() => {
          if (!isConnected) {
            told(authorise(id), () => undefined)
            return
          }
          const ended = call('endToolConnection', { params: { id } }).then(() => refresh('listToolConnections'))
          told(ended, () => {
            toast('good', t('isDisconnected', { server: id }))
          })
        }}
      >
        {t(isConnected ? 'disconnect' : 'connect')}
      </Button>
    </span>
  )
}

async function authorise(id: string): Promise<void> {
  const { url } = await call('startToolConnection', { params: { id } })
  location.assign(url)
}
