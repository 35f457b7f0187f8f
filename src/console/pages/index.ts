import { lazy } from 'react'
import type { ComponentType } from 'react'
import type { Action } from '../api/rights.ts'
import type { IconName } from '../parts/icons.tsx'
import { mayIn } from '../shell/scope.ts'
import type { Scope } from '../shell/scope.ts'
import { loadWords } from '../words/index.ts'
import type { Room } from '../words/index.ts'
import { JoinsMark } from './joins/joins-mark.tsx'
import type { PageProps } from './page-props.ts'

interface PageEntry {
  /** Its first segment below the scope, its name in the catalogue (`pages.<id>`), and the name of its folder. */
  readonly id:
    | 'overview'
    | 'keys'
    | 'requests'
    | 'statistics'
    | 'playground'
    | 'wallet'
    | 'first-steps'
    | 'members'
    | 'departments'
    | 'joins'
    | 'join'
    | 'connect'
    | 'alerts'
    | 'audit'
    | 'settings'
    | 'account'
    | 'verify-email'
    | 'invitation'
    | 'enterprises'
    | 'models'
    | 'relay'
    | 'system'
    | 'tools'
    | 'upstreams'
    | 'users'
  readonly icon: IconName
  /** `G`, then this letter. */
  readonly letter: string
  readonly isIn: (scope: Scope) => boolean
  /** False: the navigation does not list it; other pages or e-mails lead to it. Its letter may be empty. */
  readonly isListed?: false
  readonly Page: ComponentType<PageProps>
  /** The count of things that wait on the page, beside its link. */
  readonly Mark?: ComponentType<{ readonly scope: Scope }>
}

/** The words and the code of a page arrive together. */
function page<Name extends string>(
  rooms: Room | readonly Room[],
  load: () => Promise<Readonly<Record<Name, ComponentType<PageProps>>>>,
  name: Name,
): ComponentType<PageProps> {
  return lazy<ComponentType<PageProps>>(async () => {
    const [module] = await Promise.all([load(), ...[rooms].flat().map((room) => loadWords(room))])
    return { default: module[name] }
  })
}

/** Of an enterprise, and allowed. */
function isInEnterprise(scope: Scope, action: Action): boolean {
  return scope.kind === 'enterprise' && mayIn(scope, action)
}

/** Pages of an enterprise have words together. */
async function withShared<Module>(loading: Promise<Module>): Promise<Module> {
  const [module] = await Promise.all([loading, loadWords('enterprise')])
  return module
}

function isPlatform(scope: Scope): boolean {
  return scope.kind === 'platform'
}

/** The pages in the order of the navigation. `README.md` says how to add one. */
export const PAGES: readonly PageEntry[] = [
  {
    id: 'overview',
    icon: 'home',
    letter: 'o',
    isIn: (scope) => mayIn(scope, 'usage.read'),
    Page: page(['overview', 'requests'], () => import('./overview/overview-page.tsx'), 'OverviewPage'),
  },
  {
    id: 'keys',
    icon: 'key',
    letter: 'k',
    isIn: (scope) => scope.kind !== 'platform' && mayIn(scope, 'keys.read'),
    Page: page('keys', () => import('./keys/keys-page.tsx'), 'KeysPage'),
  },
  {
    id: 'requests',
    icon: 'list',
    letter: 'r',
    isIn: (scope) => mayIn(scope, 'logs.read'),
    Page: page('requests', () => import('./requests/requests-page.tsx'), 'RequestsPage'),
  },
  {
    id: 'members',
    icon: 'person',
    letter: 'm',
    isIn: (scope) => isInEnterprise(scope, 'members.read'),
    Page: page('members', () => withShared(import('./members/members-page.tsx')), 'MembersPage'),
  },
  {
    id: 'departments',
    icon: 'tree',
    letter: 'd',
    isIn: (scope) => isInEnterprise(scope, 'departments.read'),
    Page: page('departments', () => withShared(import('./departments/departments-page.tsx')), 'DepartmentsPage'),
  },
  {
    id: 'joins',
    icon: 'inbox',
    letter: 'j',
    isIn: (scope) => isInEnterprise(scope, 'members.manage'),
    Page: page('joins', () => withShared(import('./joins/joins-page.tsx')), 'JoinsPage'),
    Mark: JoinsMark,
  },
  {
    id: 'join',
    icon: 'building',
    letter: 'j',
    isIn: (scope) => scope.kind === 'own',
    Page: page('join', () => withShared(import('./join/join-page.tsx')), 'JoinPage'),
  },
  {
    id: 'alerts',
    icon: 'bell',
    letter: 'a',
    isIn: (scope) => isInEnterprise(scope, 'alerts.read'),
    Page: page('alerts', () => withShared(import('./alerts/alerts-page.tsx')), 'AlertsPage'),
  },
  {
    id: 'upstreams',
    icon: 'server',
    letter: 'u',
    isIn: isPlatform,
    Page: page('upstreams', () => import('./upstreams/upstreams-page.tsx'), 'UpstreamsPage'),
  },
  {
    id: 'models',
    icon: 'cube',
    letter: 'm',
    isIn: isPlatform,
    Page: page('models', () => import('./models/models-page.tsx'), 'ModelsPage'),
  },
  {
    id: 'tools',
    icon: 'tool',
    letter: 't',
    isIn: isPlatform,
    Page: page('tools', () => import('./tools/tools-page.tsx'), 'ToolsPage'),
  },
  {
    id: 'enterprises',
    icon: 'building',
    letter: 'e',
    isIn: isPlatform,
    Page: page('enterprises', () => import('./enterprises/enterprises-page.tsx'), 'EnterprisesPage'),
  },
  {
    id: 'users',
    icon: 'people',
    letter: 'p',
    isIn: isPlatform,
    Page: page('users', () => import('./users/users-page.tsx'), 'UsersPage'),
  },
  {
    id: 'relay',
    icon: 'pulse',
    letter: 'j',
    isIn: isPlatform,
    Page: page('relay', () => import('./relay/relay-page.tsx'), 'RelayPage'),
  },
  {
    id: 'audit',
    icon: 'book',
    letter: 'l',
    isIn: (scope) => isPlatform(scope) || isInEnterprise(scope, 'audit.read'),
    Page: page('audit', () => withShared(import('./audit/audit-page.tsx')), 'AuditPage'),
  },
  {
    id: 'settings',
    icon: 'gear',
    letter: 'e',
    isIn: (scope) => isInEnterprise(scope, 'enterprise.read'),
    Page: page('settings', () => withShared(import('./settings/settings-page.tsx')), 'SettingsPage'),
  },
  {
    id: 'system',
    icon: 'gear',
    letter: 'y',
    isIn: isPlatform,
    Page: page('system', () => import('./system/system-page.tsx'), 'SystemPage'),
  },
  {
    id: 'account',
    icon: 'person',
    letter: '',
    isIn: (scope) => scope.kind === 'own',
    isListed: false,
    Page: page('account', () => import('./account/account-page.tsx'), 'AccountPage'),
  },
  // Tools lead to it.
  {
    id: 'connect',
    icon: 'tool',
    letter: '',
    isIn: (scope) => scope.kind === 'own',
    isListed: false,
    Page: page('connect', () => import('./connect/connect-page.tsx'), 'ConnectPage'),
  },
  // E-mails lead to these two.
  {
    id: 'verify-email',
    icon: 'check',
    letter: '',
    isIn: (scope) => scope.kind === 'own',
    isListed: false,
    Page: page('account', () => import('./account/verify-email-page.tsx'), 'VerifyEmailPage'),
  },
  {
    id: 'invitation',
    icon: 'building',
    letter: '',
    isIn: (scope) => scope.kind === 'own',
    isListed: false,
    Page: page('account', () => import('./account/invitation-page.tsx'), 'InvitationPage'),
  },
  {
    id: 'statistics',
    icon: 'chart',
    letter: 's',
    isIn: (scope) => mayIn(scope, 'usage.read'),
    Page: page(['statistics', 'requests'], () => import('./statistics/statistics-page.tsx'), 'StatisticsPage'),
  },
  {
    id: 'playground',
    icon: 'play',
    letter: 'p',
    isIn: (scope) => scope.kind !== 'platform' && mayIn(scope, 'keys.manage'),
    Page: page('playground', () => import('./playground/playground-page.tsx'), 'PlaygroundPage'),
  },
  {
    id: 'wallet',
    icon: 'wallet',
    letter: 'w',
    isIn: (scope) => scope.kind === 'enterprise' && mayIn(scope, 'wallet.read'),
    Page: page('wallet', () => import('./wallet/wallet-page.tsx'), 'WalletPage'),
  },
  {
    id: 'first-steps',
    icon: 'flag',
    letter: '',
    isIn: (scope) => scope.kind !== 'platform' && mayIn(scope, 'keys.manage'),
    isListed: false,
    Page: page(
      ['first-steps', 'keys', 'requests'],
      () => import('./first-steps/first-steps-page.tsx'),
      'FirstStepsPage',
    ),
  },
]

/** The pages of the navigation. */
export function pagesIn(scope: Scope): readonly PageEntry[] {
  return PAGES.filter((entry) => entry.isIn(scope) && entry.isListed !== false)
}

/** The page with this first segment below its scope. */
export function pageOf(scope: Scope, id: string): PageEntry | undefined {
  return PAGES.find((entry) => entry.id === id && entry.isIn(scope))
}

/** Pages of the platform that are part of another one now, by the name that old links have. */
const MOVED: ReadonlyMap<string, PageEntry['id']> = new Map([['dashboard', 'overview']])

/** The page that has what the page of this name had; undefined: it has not moved. */
export function movedTo(scope: Scope, id: string): PageEntry['id'] | undefined {
  return isPlatform(scope) ? MOVED.get(id) : undefined
}
