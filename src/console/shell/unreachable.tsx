import { useSyncExternalStore } from 'react'
import type { ReactNode } from 'react'
import { ApiError, ConnectionError, TimeoutError } from '../../client/index.ts'
import { queryClient } from '../api/queries.ts'
import { Icon } from '../parts/icons.tsx'
import { useWords } from '../words/index.ts'
import classes from './unreachable.module.css'

/** A bar while the gateway cannot be reached: the pages keep their last data. */
export function Unreachable(): ReactNode {
  const t = useWords('common')
  const isOut = useSyncExternalStore((changed) => queryClient.getQueryCache().subscribe(changed), isUnreachable)
  if (!isOut) return null
  return (
    <div className={classes.bar} role="status">
      <Icon name="alert" size={14} />
      {t('shell.unreachable')}
    </div>
  )
}

function isUnreachable(): boolean {
  return queryClient
    .getQueryCache()
    .getAll()
    .some((query) => isConnection(query.state.error) && query.state.data !== undefined && query.isActive())
}

function isConnection(cause: unknown): boolean {
  if (cause instanceof ApiError) return cause.statusCode === 503
  return cause instanceof ConnectionError || cause instanceof TimeoutError
}
