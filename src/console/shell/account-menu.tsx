import { Menu, UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { logOut } from '../api/session.ts'
import type { Account } from '../api/session.ts'
import { Icon } from '../parts/icons.tsx'
import { useWords } from '../words/index.ts'
import { LanguageSwitch, ThemeSwitch } from './choices.tsx'
import classes from './menus.module.css'

export function AccountMenu({ account }: { readonly account: Account }): ReactNode {
  const t = useWords('common')
  return (
    <Menu position="top-start" width={248}>
      <Menu.Target>
        <UnstyledButton className={classes.big ?? ''}>
          <span className={classes.face} aria-hidden="true">
            <Icon name="person" size={14} />
          </span>
          <span className={classes.texts}>
            <span className={classes.first} style={{ display: 'block' }}>
              {account.name}
            </span>
            <span className={classes.second}>{account.phone}</span>
          </span>
          <span className={classes.arrow}>
            <Icon name="switch" size={14} />
          </span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes.switches}>
          <LanguageSwitch />
          <ThemeSwitch />
        </div>
        <Menu.Divider />
        <Menu.Item component={Link} href="/account" leftSection={<Icon name="person" size={14} />}>
          {t('pages.account')}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name="logout" size={14} />}
          onClick={() => {
            void logOut()
          }}
        >
          {t('shell.logOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
