import { SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../../client/index.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Tone } from '../../parts/badge.tsx'
import type { IconName } from '../../parts/icons.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { chosen, useUrlState } from '../../parts/url-state.ts'
import { Nothing } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { isSection, sectionsOf } from './sections.ts'
import classes from './settings.module.css'
import layout from '../../parts/layout.module.css'

const SHOWN = ['all', 'set'] as const

type Setting = ResultOf<'adminGetSystem'>['settings'][number]

/** Each setting with its value and the place that it comes from. Secrets are never shown. */
export function Settings({ scope }: { readonly scope: Scope }): ReactNode {
  const t = useWords('system')
  const common = useWords('common')
  const url = useUrlState()
  const system = useRead('adminGetSystem', {})
  const search = url.query.get('search') ?? ''
  const show = chosen(SHOWN, url.query.get('show'))
  if (system.data === undefined) {
    return system.isError ? (
      <Failed
        cause={system.error}
        retry={() => {
          void system.refetch()
        }}
      />
    ) : (
      <TableSkeleton label={common('loading')} />
    )
  }
  const { settings, config_file: file } = system.data
  const wanted = search.trim().toLowerCase()
  const matching = settings.filter(
    ({ name, source }) => name.includes(wanted) && (show === 'all' || source !== 'default'),
  )
  return (
    <>
      <p className={layout.note}>
        {file === null ? t('settings.noFile') : t('settings.file', { file })} {t('settings.change')}
      </p>
      <div className={layout.tools}>
        <SearchField
          value={search}
          label={t('settings.search')}
          placeholder={t('settings.search')}
          onSearch={(text) => {
            url.set({ search: text === '' ? null : text }, 'replace')
          }}
        />
        <SegmentedControl
          aria-label={t('settings.show.label')}
          value={show}
          data={SHOWN.map((value) => ({ value, label: t(`settings.show.${value}`) }))}
          onChange={(value) => {
            url.set({ show: value === SHOWN[0] ? null : value })
          }}
        />
      </div>
      {matching.length === 0 ? (
        <Empty icon="search" title={t(wanted === '' ? 'settings.none' : 'settings.noMatch')} />
      ) : (
        sectionsOf(matching).map(([section, members]) => {
          const title = isSection(section) ? t(`sections.${section}`) : section
          return (
            <section key={section} className={layout.block}>
              <h2 className={layout.title}>{title}</h2>
              <table className={classes.table}>
                <caption className="hidden">{title}</caption>
                <thead>
                  <tr>
                    <th scope="col">{t('settings.name')}</th>
                    <th scope="col">{t('settings.value')}</th>
                    <th scope="col">{t('settings.source')}</th>
                  </tr>
                </thead>
                <tbody>
                  {members.map((setting) => (
                    <tr key={setting.name} data-setting={setting.name}>
                      <th scope="row">
                        <code>{setting.name}</code>
                      </th>
                      <td>
                        <Value setting={setting} scope={scope} />
                      </td>
                      <td>
                        <Source setting={setting} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )
        })
      )}
    </>
  )
}

/** The page on which admins add entries while the gateway runs. */
const PAGES: Readonly<Partial<Record<string, string>>> = {
  upstreams: '/upstreams',
  models: '/models',
  model_groups: '/models?tab=groups',
  'mcp.servers': '/tools',
}

function Value({ setting, scope }: { readonly setting: Setting; readonly scope: Scope }): ReactNode {
  const t = useWords('system')
  const { name, value, is_secret: isSecret, is_set: isSet, entries, stored_entries: stored } = setting
  if (entries !== null) {
    const page = PAGES[name]
    const told = t('settings.entries', { count: entries })
    if (stored === null || page === undefined) return told
    return (
      <>
        {told}, <Link href={pathIn(scope, page)}>{t('settings.stored', { count: stored })}</Link>
      </>
    )
  }
  if (isSecret && isSet) {
    return (
      <Badge tone="plain" icon="shield" title={t('settings.hiddenAbout')}>
        {t('settings.hidden')}
      </Badge>
    )
  }
  if (value === null) return <Nothing why={t('settings.notSet')} />
  const text = textOf(value)
  if (text === '') return <Nothing why={t('settings.emptyList')} />
  return <code>{text}</code>
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const SOURCES = {
  default: ['plain', 'dash'],
  file: ['accent', 'book'],
  environment: ['accent', 'gear'],
  stored: ['accent', 'person'],
} as const satisfies Record<Setting['source'], readonly [Tone, IconName]>

function Source({ setting: { source, variable } }: { readonly setting: Setting }): ReactNode {
  const t = useWords('system')
  const [tone, icon] = SOURCES[source]
  return (
    <span className={layout.inline}>
      <Badge tone={tone} icon={icon}>
        {t(`settings.sources.${source}`)}
      </Badge>
      {variable !== null && <code>{variable}</code>}
    </span>
  )
}
