import { Button, Checkbox, Popover } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { remember, remembered } from '../../api/preferences.ts'
import { Icon } from '../../parts/icons.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { columnsIn, DEFAULT_COLUMNS } from './columns.tsx'
import type { ColumnName } from './columns.tsx'
import classes from './requests-page.module.css'

/** The chosen columns, which the browser remembers. */
export function useColumns(scope: Scope): readonly [readonly ColumnName[], (columns: readonly ColumnName[]) => void] {
  const possible = columnsIn(scope)
  const [chosen, setChosen] = useState<readonly string[]>(
    () => remembered('columns.requests')?.split(',') ?? DEFAULT_COLUMNS,
  )
  const columns = possible.filter((name) => chosen.includes(name))
  return [
    columns.length === 0 ? DEFAULT_COLUMNS : columns,
    (next) => {
      remember('columns.requests', next.join(','))
      setChosen(next)
    },
  ]
}

interface ColumnMenuProps {
  readonly scope: Scope
  readonly columns: readonly ColumnName[]
  readonly onChange: (columns: readonly ColumnName[]) => void
}

/** The choice of the columns of the log. */
export function ColumnMenu({ scope, columns, onChange }: ColumnMenuProps): ReactNode {
  const t = useWords('requests')
  return (
    <Popover position="bottom-end" width={240} trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" size={14} />}>
          {t('chooseColumns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('chooseColumns')} mah={420} style={{ overflowY: 'auto' }}>
        <div className={classes.filterForm}>
          {columnsIn(scope).map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={t(`columns.${name}`)}
              checked={columns.includes(name)}
              // The first one is the link to the detail.
              disabled={name === 'time'}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                onChange(columnsIn(scope).filter((one) => (one === name ? isOn : columns.includes(one))))
              }}
            />
          ))}
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              onChange(DEFAULT_COLUMNS)
            }}
          >
            {t('defaultColumns')}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
