import i18next from 'i18next'
import { useSyncExternalStore } from 'react'
import type Account from './en/account.json'
import type Alerts from './en/alerts.json'
import type Audit from './en/audit.json'
import type Common from './en/common.json'
import type Connect from './en/connect.json'
import type Departments from './en/departments.json'
import type Enterprise from './en/enterprise.json'
import type Errors from './en/errors.json'
import type Join from './en/join.json'
import type Joins from './en/joins.json'
import type Keys from './en/keys.json'
import type FirstSteps from './en/first-steps.json'
import type Overview from './en/overview.json'
import type Playground from './en/playground.json'
import type Statistics from './en/statistics.json'
import type Wallet from './en/wallet.json'
import type Members from './en/members.json'
import type Enterprises from './en/enterprises.json'
import type Models from './en/models.json'
import type Relay from './en/relay.json'
import type System from './en/system.json'
import type Tools from './en/tools.json'
import type Upstreams from './en/upstreams.json'
import type Users from './en/users.json'
import type Requests from './en/requests.json'
import type Settings from './en/settings.json'
import { remember, remembered } from '../api/preferences.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common'
    resources: Catalogues
  }
}

/** A room of words for each folder of pages, one for those of an enterprise together, and two that belong to all. A new one has its row here. */
interface Catalogues {
  readonly account: typeof Account
  readonly alerts: typeof Alerts
  readonly audit: typeof Audit
  readonly common: typeof Common
  readonly connect: typeof Connect
  readonly departments: typeof Departments
  readonly enterprise: typeof Enterprise
  readonly errors: typeof Errors
  readonly join: typeof Join
  readonly joins: typeof Joins
  readonly keys: typeof Keys
  readonly 'first-steps': typeof FirstSteps
  readonly overview: typeof Overview
  readonly playground: typeof Playground
  readonly statistics: typeof Statistics
  readonly wallet: typeof Wallet
  readonly members: typeof Members
  readonly enterprises: typeof Enterprises
  readonly models: typeof Models
  readonly relay: typeof Relay
  readonly system: typeof System
  readonly tools: typeof Tools
  readonly upstreams: typeof Upstreams
  readonly users: typeof Users
  readonly requests: typeof Requests
  readonly settings: typeof Settings
}

export type Room = keyof Catalogues
export type Language = 'en' | 'zh'

const FILES = import.meta.glob<{ default: Record<string, unknown> }>('./*/*.json')

/** Chinese for browsers that ask for it, until somebody chooses. */
export function preferredLanguage(): Language {
  const chosen = remembered('language')
  if (chosen === 'en' || chosen === 'zh') return chosen
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

export async function startWords(): Promise<void> {
  await i18next.init({
    lng: preferredLanguage(),
    fallbackLng: false,
    defaultNS: 'common',
    ns: [],
    resources: {},
    interpolation: { escapeValue: false },
    returnNull: false,
  })
  await Promise.all([loadWords('common'), loadWords('errors')])
  tellPage()
}

/** Loads the words of a room in the language of the page. */
export async function loadWords(room: Room, language = i18next.language): Promise<void> {
  if (i18next.hasResourceBundle(language, room)) return
  const file = FILES[`./${language}/${room}.json`]
  if (file === undefined) throw new Error(`There are no words for ${room} in ${language}.`)
  i18next.addResourceBundle(language, room, (await file()).default)
}

export async function chooseLanguage(language: Language): Promise<void> {
  const rooms = Object.keys(i18next.store.data[i18next.language] ?? {}) as Room[]
  await Promise.all(rooms.map((room) => loadWords(room, language)))
  remember('language', language)
  await i18next.changeLanguage(language)
  tellPage()
}

function tellPage(): void {
  document.documentElement.lang = i18next.language === 'zh' ? 'zh-CN' : 'en'
}

function subscribe(changed: () => void): () => void {
  i18next.on('languageChanged', changed)
  return () => {
    i18next.off('languageChanged', changed)
  }
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => i18next.language as Language)
}

/** The words of a room: `const t = useWords('keys')`, then `t('title')`. */
export function useWords<Of extends Room>(room: Of) {
  useLanguage()
  return wordsOf(room)
}

/** Outside of components. */
export function wordsOf<Of extends Room>(room: Of) {
  return i18next.getFixedT(i18next.language, room)
}

/** For formats: the locale of the page. */
export function localeOf(language: Language): string {
  return language === 'zh' ? 'zh-CN' : 'en-GB'
}
