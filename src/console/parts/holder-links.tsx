import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { mayIn, pathIn } from '../shell/scope.ts'
import type { Scope } from '../shell/scope.ts'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'

interface HolderLinksProps {
  readonly scope: Scope
  /** The filter of the request log. */
  readonly kind: 'department' | 'member'
  readonly id: string
}

/** Links to the requests of a holder of keys, and to its changes in the audit log, for those who may see them. */
export function HolderLinks({ scope, kind, id }: HolderLinksProps): ReactNode {
  const words = useWords('enterprise')
  const at = encodeURIComponent(id)
  return (
    <>
      {mayIn(scope, 'logs.read') && (
        <Button
          variant="default"
          component={Link}
          href={`${pathIn(scope, '/requests')}?${kind}=${at}`}
          leftSection={<Icon name="list" size={14} />}
        >
          {words('seeRequests')}
        </Button>
      )}
      {mayIn(scope, 'audit.read') && (
        <Button
          variant="default"
          component={Link}
          href={`${pathIn(scope, '/audit')}?target=${at}`}
          leftSection={<Icon name="clock" size={14} />}
        >
          {words('history')}
        </Button>
      )}
    </>
  )
}
