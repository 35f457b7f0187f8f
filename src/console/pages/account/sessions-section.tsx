import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { ItemOf } from '../../../client/index.ts'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { pageInstead } from '../../parts/last-page.ts'
import { Pager } from '../../parts/pager.tsx'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { AccountSection } from './section.tsx'
import classes from './account.module.css'

const LIMIT = 20

/** The sessions of the user, each with its end. */
export function SessionsSection(): ReactNode {
  const t = useWords('account')
  const [page, setPage] = useState(1)
  const list = useRead('listSessions', { query: { page, limit: LIMIT } }, { keepsOld: true })
  const instead = list.data === undefined ? null : pageInstead(list.data)
  if (instead !== null && instead < page) setPage(instead)
  return (
    <AccountSection title={t('sessions.title')}>
      <p className="muted">{t('sessions.about')}</p>
      {list.data === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      <ul className={classes.sessions}>
        {list.data?.data.map((session) => (
          <OneSession key={session.id} session={session} />
        ))}
      </ul>
      {list.data !== undefined && list.data.total > LIMIT && (
        <Pager page={page} limit={LIMIT} total={list.data.total} onPage={setPage} />
      )}
    </AccountSection>
  )
}

function OneSession({ session }: { readonly session: ItemOf<'listSessions'> }): ReactNode {
  const t = useWords('account')
  const [isBusy, setIsBusy] = useState(false)
  const { id, current, user_agent: agent, address, last_used_at: usedAt, created_at: createdAt } = session
  const shown = agent === '' ? t('sessions.unknown') : agent
  const end = async (): Promise<void> => {
    setIsBusy(true)
    try {
      await call('endSession', { params: { id } })
      toast('good', t('sessions.ended'))
      await refresh('listSessions')
    } catch (cause) {
      tellFailure(cause)
      setIsBusy(false)
    }
  }
  return (
    <li className={classes.session}>
      <div className={classes.what}>
        <div className={classes.agent}>{shown}</div>
        <div className="muted note">
          {address} · {t('sessions.lastUsed')} <Time at={usedAt} isRelative /> · {t('sessions.began')}{' '}
          <Time at={createdAt} isRelative />
        </div>
      </div>
      {current ? (
        <Badge tone="good" icon="check">
          {t('sessions.current')}
        </Badge>
      ) : (
        <Button
          variant="default"
          size="xs"
          loading={isBusy}
          aria-label={t('sessions.endOf', { agent: shown })}
          onClick={() => {
            void end()
          }}
        >
          {t('sessions.end')}
        </Button>
      )}
    </li>
  )
}
