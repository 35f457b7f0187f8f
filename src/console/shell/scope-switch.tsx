import { Menu, UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useRead } from '../api/queries.ts'
import { pagesIn } from '../pages/index.ts'
import { Icon, Sign } from '../parts/icons.tsx'
import type { IconName } from '../parts/icons.tsx'
import { useWords } from '../words/index.ts'
import { pathIn, useAccount } from './scope.ts'
import type { Scope } from './scope.ts'
import classes from './menus.module.css'

const ADMIN_LISTS = 50

/** The scopes of the person. A platform admin sees every enterprise, up to a number; the palette finds the others. */
export function useScopes(): readonly Scope[] {
  const account = useAccount()
  const isAdmin = account.role === 'admin'
  const all = useRead(
    'adminListEnterprises',
    { query: { limit: ADMIN_LISTS } },
    { isEnabled: isAdmin, staleMs: 60_000 },
  )
  const enterprises: readonly Scope[] = isAdmin
    ? (all.data?.data ?? []).map(({ id, name }) => ({ kind: 'enterprise', id, name, role: 'owner' }))
    : account.enterprises.map((membership) => ({ kind: 'enterprise', ...membership }))
  return [{ kind: 'own' }, ...enterprises, ...(isAdmin ? [{ kind: 'platform' as const }] : [])]
}

export const SCOPE_ICONS = { own: 'person', enterprise: 'building', platform: 'shield' } as const satisfies Record<
  Scope['kind'],
  IconName
>

export function useScopeName(): (scope: Scope) => string {
  const t = useWords('common')
  return (scope) => (scope.kind === 'enterprise' ? scope.name : t(`scopes.${scope.kind}`))
}

export function startIn(scope: Scope): string {
  return pathIn(scope, `/${pagesIn(scope)[0]?.id ?? ''}`)
}

export function ScopeSwitch({ scope, onChosen }: { readonly scope: Scope; readonly onChosen: () => void }): ReactNode {
  const t = useWords('common')
  const [, navigate] = useLocation()
  const scopes = useScopes()
  const nameOf = useScopeName()
  const second = scope.kind === 'enterprise' ? t(`roles.${scope.role}`) : t(`scopes.${scope.kind}About`)
  const isSame = (other: Scope): boolean => pathIn(other, '') === pathIn(scope, '')
  return (
    <Menu position="bottom-start" width={264}>
      <Menu.Target>
        <UnstyledButton className={classes.big ?? ''} title={t('scopes.switch')}>
          <Sign size={28} />
          <span className={classes.texts}>
            <span className={classes.first} style={{ display: 'block' }}>
              {nameOf(scope)}
            </span>
            <span className={classes.second}>{second}</span>
          </span>
          <span className={classes.arrow}>
            <Icon name="switch" size={14} />
          </span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
        {scopes.map((one) => (
          <Menu.RadioItem
            key={pathIn(one, '')}
            value={pathIn(one, '')}
            checked={isSame(one)}
            checkIcon={<Icon name="check" size={14} />}
            rightSection={<Icon name={SCOPE_ICONS[one.kind]} size={14} />}
            closeMenuOnClick
            onChange={() => {
              navigate(startIn(one))
              onChosen()
            }}
          >
            {nameOf(one)}
          </Menu.RadioItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
