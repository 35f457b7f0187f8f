import { ActionIcon, Drawer } from '@mantine/core'
import { Suspense, useEffect, useMemo, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { useRead } from '../api/queries.ts'
import { remember, remembered } from '../api/preferences.ts'
import type { Account } from '../api/session.ts'
import { movedTo, pageOf, pagesIn } from '../pages/index.ts'
import { Icon } from '../parts/icons.tsx'
import { Page } from '../parts/page.tsx'
import { Boundary, Empty } from '../parts/states.tsx'
import { useWords } from '../words/index.ts'
import { AccountMenu } from './account-menu.tsx'
import { KeyboardHelp } from './keyboard-help.tsx'
import { useHotkeys } from './hotkeys.ts'
import { Palette } from './palette.tsx'
import { AccountProvider, pathIn, placeOf, ScopeProvider } from './scope.ts'
import type { Place, Scope } from './scope.ts'
import { ScopeSwitch } from './scope-switch.tsx'
import { ZoneMenu } from './zone-menu.tsx'
import { ZoneProvider } from './zone.tsx'
import { Unreachable } from './unreachable.tsx'
import classes from './shell.module.css'

type Dialog = 'palette' | 'help' | 'navigation'

/** Pages with nothing for somebody who is logged in. */
const FOR_VISITORS: ReadonlySet<string> = new Set(['/login', '/signed-in', '/register', '/forgot-password'])

export function Shell({ account }: { readonly account: Account }): ReactNode {
  const [location] = useLocation()
  const place = useMemo(() => placeOf(location, account), [location, account])
  if (location === '/') return <Redirect to={startOf(account)} replace />
  if (FOR_VISITORS.has(location)) return <Redirect to={startOf(account)} replace />
  return (
    <AccountProvider value={account}>
      <Frame account={account} place={place} />
    </AccountProvider>
  )
}

/** The first page of the scope that was last used here. */
function startOf(account: Account): string {
  const last = placeOf(remembered('scope') ?? '/', account)?.scope ?? { kind: 'own' as const }
  return pathIn(last, `/${pagesIn(last)[0]?.id ?? ''}`)
}

function Frame({ account, place }: { readonly account: Account; readonly place: Place | null }): ReactNode {
  const t = useWords('common')
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const main = useRef<HTMLElement>(null)
  const scope: Scope = place?.scope ?? OWN
  const close = (): void => {
    setDialog(null)
  }
  useEffect(() => {
    if (place !== null) remember('scope', pathIn(place.scope, '/'))
  }, [place])
  const pages = pagesIn(scope)
  useHotkeys({
    palette: () => {
      setDialog('palette')
    },
    help: () => {
      setDialog('help')
    },
    go: (letter) => {
      const target = pages.find((page) => page.letter === letter)
      if (target !== undefined) navigate(pathIn(scope, `/${target.id}`))
    },
  })
  const enterprise = useRead(
    'getEnterprise',
    { params: { id: scope.kind === 'enterprise' ? scope.id : '' } },
    { isEnabled: scope.kind === 'enterprise', staleMs: 60_000 },
  )
  const named = useMemo<Scope>(
    () => (scope.kind === 'enterprise' ? { ...scope, name: enterprise.data?.name ?? scope.name } : scope),
    [scope, enterprise.data?.name],
  )
  const navigation = (
    <Navigation account={account} scope={named} current={place?.path.split('/')[1] ?? null} onChosen={close} />
  )
  return (
    <ScopeProvider value={named}>
      <ZoneProvider scopeZone={scope.kind === 'enterprise' ? (enterprise.data?.time_zone ?? null) : null}>
        <a
          href="#content"
          className={classes.skip}
          onClick={(event) => {
            event.preventDefault()
            main.current?.focus()
          }}
        >
          {t('shell.skip')}
        </a>
        <div className={classes.frame}>
          <aside className={classes.side}>{navigation}</aside>
          <div className={classes.body}>
            <header className={classes.bar}>
              <ActionIcon
                className={classes.burger ?? ''}
                aria-label={t('shell.openNavigation')}
                size={36}
                onClick={() => {
                  setDialog('navigation')
                }}
              >
                <Icon name="menu" />
              </ActionIcon>
              <button
                type="button"
                className={classes.search}
                onClick={() => {
                  setDialog('palette')
                }}
              >
                <Icon name="search" size={14} />
                <span className={classes.searchText}>{t('shell.search')}</span>
                <kbd className={classes.keys}>{commandKey()}</kbd>
              </button>
              <div className={classes.right}>
                <ZoneMenu />
                <ActionIcon
                  className={classes.wide ?? ''}
                  aria-label={t('shell.help')}
                  title={t('shell.help')}
                  onClick={() => {
                    setDialog('help')
                  }}
                >
                  <Icon name="help" />
                </ActionIcon>
              </div>
            </header>
            <Unreachable />
            <main id="content" ref={main} tabIndex={-1} className={classes.main}>
              {place === null ? <NotFound /> : <Current place={{ ...place, scope: named }} />}
            </main>
          </div>
        </div>
        <Drawer
          opened={dialog === 'navigation'}
          onClose={close}
          size={288}
          padding={0}
          withCloseButton={false}
          attributes={{ content: { 'aria-label': t('shell.navigation') } }}
        >
          <div className={classes.drawer}>{navigation}</div>
        </Drawer>
        <Palette isOpen={dialog === 'palette'} onClose={close} />
        <KeyboardHelp isOpen={dialog === 'help'} onClose={close} pages={pages.filter(({ letter }) => letter !== '')} />
      </ZoneProvider>
    </ScopeProvider>
  )
}

const OWN: Scope = { kind: 'own' }

function commandKey(): string {
  return /Mac|iP(hone|ad)/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'
}

interface NavigationProps {
  readonly account: Account
  readonly scope: Scope
  readonly current: string | null
  readonly onChosen: () => void
}

function Navigation({ account, scope, current, onChosen }: NavigationProps): ReactNode {
  const t = useWords('common')
  return (
    <>
      <ScopeSwitch scope={scope} onChosen={onChosen} />
      <nav aria-label={t('shell.navigation')} className={classes.links}>
        {pagesIn(scope)
          .filter(({ isListed }) => isListed !== false)
          .map(({ id, icon, Mark }) => (
            <Link
              key={id}
              href={pathIn(scope, `/${id}`)}
              className={classes.link}
              aria-current={current === id ? 'page' : undefined}
              onClick={onChosen}
            >
              <Icon name={icon} />
              {t(`pages.${id}`)}
              {Mark !== undefined && <Mark scope={scope} />}
            </Link>
          ))}
      </nav>
      <div className={classes.bottom}>
        <a className={classes.link} href="/docs" target="_blank" rel="noreferrer">
          <Icon name="book" />
          {t('shell.docs')}
        </a>
        <AccountMenu account={account} />
      </div>
    </>
  )
}

function Current({ place: { scope, path } }: { readonly place: Place }): ReactNode {
  const t = useWords('common')
  const [, first = '', second, ...rest] = path.split('/')
  const entry = pageOf(scope, first)
  const title = entry === undefined ? t('product') : `${t(`pages.${entry.id}`)} · ${t('product')}`
  useEffect(() => {
    document.title = title
  }, [title])
  if (entry === undefined && pagesIn(scope).length === 0) {
    return <Empty icon="shield" title={t('shell.noPages')} text={t('shell.noPagesAbout')} />
  }
  if (first === '') return <Redirect to={pathIn(scope, `/${pagesIn(scope)[0]?.id ?? ''}`)} replace />
  const moved = movedTo(scope, first)
  if (moved !== undefined) return <Redirect to={`${pathIn(scope, `/${moved}`)}${window.location.search}`} replace />
  if (entry === undefined || rest.length > 0) return <NotFound />
  const { Page: EntryPage, id } = entry
  return (
    // A new scope starts the page anew: nothing of the one before stays in its state.
    <Boundary name={id} key={pathIn(scope, id)}>
      <Suspense fallback={null}>
        <EntryPage scope={scope} open={second === undefined || second === '' ? null : decodeURIComponent(second)} />
      </Suspense>
    </Boundary>
  )
}

function NotFound(): ReactNode {
  const t = useWords('common')
  return (
    <Page title={t('shell.notFound')} about={t('shell.notFoundAbout')}>
      <Link href="/">{t('shell.home')}</Link>
    </Page>
  )
}
