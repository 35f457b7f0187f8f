import { Modal, useMantineColorScheme } from '@mantine/core'
import { useId, useMemo, useState } from 'react'
import type { KeyboardEvent, ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useRead } from '../api/queries.ts'
import { logOut } from '../api/session.ts'
import { pagesIn } from '../pages/index.ts'
import { Icon } from '../parts/icons.tsx'
import type { IconName } from '../parts/icons.tsx'
import { chooseLanguage, useLanguage, useWords } from '../words/index.ts'
import { mayIn, pathIn, useScope } from './scope.ts'
import type { Scope } from './scope.ts'
import { SCOPE_ICONS, startIn, useScopeName, useScopes } from './scope-switch.tsx'
import classes from './palette.module.css'

const MAX_ROWS = 50
const MAX_KEYS = 100
const REQUEST_ID = /^req_[\w-]{6,}$/

interface Row {
  readonly id: string
  readonly group: string
  readonly icon: IconName
  readonly text: string
  /** More words by which it is found. */
  readonly also?: string
  readonly run: () => void
}

interface PaletteProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function Palette({ isOpen, onClose }: PaletteProps): ReactNode {
  const t = useWords('common')
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size={560}
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': t('palette.title') } }}
    >
      <Search onClose={onClose} />
    </Modal>
  )
}

function Search({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('common')
  const list = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const rows = useRows(text.trim())
  const at = Math.min(chosen, Math.max(0, rows.length - 1))
  const run = (row: Row | undefined): void => {
    if (row === undefined) return
    onClose()
    row.run()
  }
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const next = (at + step + rows.length) % Math.max(1, rows.length)
      setChosen(next)
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: 'nearest' })
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(rows[at])
    }
  }
  return (
    <div className={classes.palette}>
      <div className={classes.field}>
        <Icon name="search" />
        <input
          className={classes.input}
          role="combobox"
          aria-label={t('palette.title')}
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={rows.length > 0 ? `${list}-${at}` : undefined}
          placeholder={t('palette.placeholder')}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={pressed}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <div className={classes.rows} role="listbox" id={list} aria-label={t('palette.title')}>
        {rows.length === 0 && <p className={classes.nothing}>{t('palette.nothing')}</p>}
        {rows.map((row, index) => (
          <div key={row.id}>
            {rows[index - 1]?.group !== row.group && (
              <p className={classes.group} role="presentation">
                {row.group}
              </p>
            )}
            <div
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === at}
              className={classes.row}
              onClick={() => {
                run(row)
              }}
              onMouseMove={() => {
                setChosen(index)
              }}
            >
              <Icon name={row.icon} />
              {row.text}
            </div>
          </div>
        ))}
      </div>
      <p className={classes.foot}>{t('palette.hint')}</p>
    </div>
  )
}

function useRows(text: string): readonly Row[] {
  const t = useWords('common')
  const language = useLanguage()
  const scope = useScope()
  const scopes = useScopes()
  const nameOf = useScopeName()
  const keys = useKeys(scope)
  const [, navigate] = useLocation()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return useMemo(() => {
    const pages: Row[] = pagesIn(scope).map(({ id, icon }) => ({
      id: `page-${id}`,
      group: t('palette.pages'),
      icon,
      text: t(`pages.${id}`),
      run: () => {
        navigate(pathIn(scope, `/${id}`))
      },
    }))
    const others: Row[] = scopes
      .filter((one) => pathIn(one, '') !== pathIn(scope, ''))
      .map((one) => ({
        id: `scope-${pathIn(one, '')}`,
        group: t('palette.scopes'),
        icon: SCOPE_ICONS[one.kind],
        text: nameOf(one),
        run: () => {
          navigate(startIn(one))
        },
      }))
    const keyRows: Row[] = keys.map(({ id, name, key_masked: masked }) => ({
      id: `key-${id}`,
      group: t('palette.keys'),
      icon: 'key',
      text: name,
      also: `${masked} ${id}`,
      run: () => {
        navigate(pathIn(scope, `/keys/${encodeURIComponent(id)}`))
      },
    }))
    const canCreate = scope.kind !== 'platform' && mayIn(scope, 'keys.manage')
    const acts: Row[] = [
      ...(canCreate
        ? [
            act('createKey', 'plus', () => {
              navigate(pathIn(scope, '/keys/new'))
            }),
          ]
        : []),
      act('switchTheme', colorScheme === 'dark' ? 'sun' : 'moon', () => {
        setColorScheme(colorScheme === 'dark' ? 'light' : 'dark')
      }),
      act('switchLanguage', 'globe', () => {
        void chooseLanguage(language === 'en' ? 'zh' : 'en')
      }),
      {
        ...act('switchTheme', 'logout', () => {
          void logOut()
        }),
        id: 'logOut',
        text: t('shell.logOut'),
      },
    ]
    function act(name: 'createKey' | 'switchTheme' | 'switchLanguage', icon: IconName, run: () => void): Row {
      return { id: name, group: t('palette.acts'), icon, text: t(`palette.${name}`), run }
    }
    if (text === '') return [...pages, ...acts, ...others].slice(0, MAX_ROWS)
    const words = text.toLowerCase()
    const found = [...pages, ...keyRows, ...acts, ...others].filter((row) =>
      `${row.text} ${row.also ?? ''}`.toLowerCase().includes(words),
    )
    const request: Row[] = REQUEST_ID.test(text)
      ? [
          {
            id: 'request',
            group: t('pages.requests'),
            icon: 'list',
            text: t('palette.openRequest', { id: text }),
            run: () => {
              navigate(pathIn(scope, `/requests/${encodeURIComponent(text)}`))
            },
          },
        ]
      : []
    return [...request, ...found].slice(0, MAX_ROWS)
  }, [t, language, scope, scopes, nameOf, keys, navigate, colorScheme, setColorScheme, text])
}

interface NamedKey {
  readonly id: string
  readonly name: string
  readonly key_masked: string
}

function useKeys(scope: Scope): readonly NamedKey[] {
  const query = { limit: MAX_KEYS }
  const own = useRead('listKeys', { query }, { isEnabled: scope.kind === 'own' })
  const enterprise = useRead(
    'listEnterpriseKeys',
    { params: { id: scope.kind === 'enterprise' ? scope.id : '' }, query },
    { isEnabled: scope.kind === 'enterprise' && mayIn(scope, 'keys.read') },
  )
  return (scope.kind === 'own' ? own.data?.data : enterprise.data?.data) ?? NO_KEYS
}

const NO_KEYS: readonly NamedKey[] = []
