import { Menu, UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { offsetName, zoneName } from '../format/time.ts'
import { Icon } from '../parts/icons.tsx'
import { useWords } from '../words/index.ts'
import { LOCAL_ZONE, useZone } from './zone.tsx'
import type { ZoneChoice } from './zone.tsx'
import classes from './menus.module.css'

/** Names the zone of all times on the page, and switches it. */
export function ZoneMenu(): ReactNode {
  const t = useWords('common')
  const { zone, choice, scopeZone, choose, now } = useZone()
  const wanted: ZoneChoice = choice === 'scope' && scopeZone === null ? 'local' : choice
  const isLocalUtc = LOCAL_ZONE === 'UTC'
  const current: ZoneChoice = wanted === 'local' && isLocalUtc ? 'utc' : wanted
  const rows = [
    ...(scopeZone === null ? [] : [{ value: 'scope' as const, label: t('shell.zoneScope'), zone: scopeZone }]),
    ...(isLocalUtc ? [] : [{ value: 'local' as const, label: t('shell.zoneLocal'), zone: LOCAL_ZONE }]),
    { value: 'utc' as const, label: t('shell.zoneUtc'), zone: 'UTC' },
  ]
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className={classes.quiet ?? ''} title={t('shell.zoneAbout')}>
          <Icon name="globe" size={14} />
          <span className="hidden">{t('shell.zone')}</span>
          <span className={classes.wide}>{zoneName(zone, now)}</span>
          <span className={classes.narrow}>{offsetName(zone, now)}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('shell.zoneAbout')}</Menu.Label>
        {rows.map((row) => (
          <Menu.RadioItem
            key={row.value}
            value={row.value}
            checked={row.value === current}
            checkIcon={<Icon name="check" size={14} />}
            closeMenuOnClick
            onChange={() => {
              choose(row.value)
            }}
          >
            {row.label}
            {row.zone !== row.label && <span className={classes.second}>{zoneName(row.zone, now)}</span>}
          </Menu.RadioItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
