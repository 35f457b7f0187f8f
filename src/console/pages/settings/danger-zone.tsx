import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import type { Enterprise } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useLocale } from '../../parts/values.tsx'
import { mayIn, useAccount } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import classes from '../../parts/form.module.css'

interface DangerZoneProps {
  readonly scope: Scope
  readonly enterprise: Enterprise
}

type Dialog = 'leave' | 'delete'

/** To leave the enterprise, and to delete it. */
export function DangerZone({ scope, enterprise }: DangerZoneProps): ReactNode {
  const t = useWords('settings')
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const { enterprises } = useAccount()
  const isMember = enterprises.some(({ id }) => id === enterprise.id)
  const close = (): void => {
    setDialog(null)
  }
  return (
    <div className={classes.form}>
      {isMember && (
        <div className={classes.item}>
          <span>
            <strong>{t('leave')}</strong>
            <br />
            <span className="muted">{t('leaveAbout')}</span>
          </span>
          <Button
            variant="default"
            leftSection={<Icon name="logout" size={14} />}
            onClick={() => {
              setDialog('leave')
            }}
          >
            {t('leave')}
          </Button>
        </div>
      )}
      {mayIn(scope, 'enterprise.delete') && (
        <div className={classes.item}>
          <span>
            <strong>{t('delete')}</strong>
            <br />
            <span className="muted">{t('deleteShort')}</span>
          </span>
          <Button
            variant="default"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => {
              setDialog('delete')
            }}
          >
            {t('delete')}
          </Button>
        </div>
      )}
      {dialog === 'leave' && <Leave scope={scope} enterprise={enterprise} onClose={close} />}
      {dialog === 'delete' && <Delete scope={scope} enterprise={enterprise} onClose={close} />}
    </div>
  )
}

function Leave({ enterprise, onClose }: DangerZoneProps & { readonly onClose: () => void }): ReactNode {
  const t = useWords('settings')
  const [, navigate] = useLocation()
  const { id, name } = enterprise
  return (
    <Confirm
      title={t('leaveTitle', { name })}
      act={t('leave')}
      onClose={onClose}
      onConfirm={async () => {
        await call('leaveEnterprise', { params: { id } })
        navigate('/', { replace: true })
        toast('good', t('left', { name }))
        await refresh('me')
      }}
    >
      <p>{t('leaveKeys')}</p>
      <p>{t('leaveBack')}</p>
    </Confirm>
  )
}

function Delete({ enterprise, onClose }: DangerZoneProps & { readonly onClose: () => void }): ReactNode {
  const t = useWords('settings')
  const words = useWords('enterprise')
  const locale = useLocale()
  const [, navigate] = useLocation()
  const { id, name } = enterprise
  const params = { id }
  const keys = useRead('listEnterpriseKeys', { params, query: { limit: 1 } }).data?.total
  const members = useRead('listMembers', { params, query: { limit: 1 } }).data?.total
  const requests = useRead('enterpriseUsage', { params, query: { period: '7d' } }).data?.totals.requests
  const shown = (count: number) => ({ count, shown: exact(count, locale) })
  return (
    <Confirm
      title={t('deleteTitle', { name })}
      act={t('delete')}
      name={name}
      onClose={onClose}
      onConfirm={async () => {
        await call('deleteEnterprise', { params })
        navigate('/', { replace: true })
        toast('good', t('deleted', { name }))
        await refresh('me')
      }}
    >
      <p>{t('deleteAbout')}</p>
      <ul>
        <li>{keys === undefined ? words('counting') : words('keysCount', shown(keys))}</li>
        <li>{members === undefined ? words('counting') : words('membersCount', shown(members))}</li>
        <li>{requests === undefined ? words('counting') : words('requestsCount', shown(requests))}</li>
      </ul>
    </Confirm>
  )
}
