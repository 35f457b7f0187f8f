import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { callWithHeaders } from '../../api/session.ts'
import { enterpriseIdOf } from '../../parts/enterprise.ts'
import { Page } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { mayIn } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { Budgets, Caps } from './budgets.tsx'
import { Capture, CaptureFacts } from './capture.tsx'
import { DangerZone } from './danger-zone.tsx'
import { General, GeneralFacts } from './general.tsx'
import classes from '../../parts/form.module.css'

export function SettingsPage({ scope }: PageProps): ReactNode {
  const t = useWords('settings')
  const common = useWords('common')
  const id = enterpriseIdOf(scope)
  const detail = useQuery({
    queryKey: ['enterpriseSettings', id],
    queryFn: ({ signal }) => callWithHeaders('getEnterprise', { params: { id } }, { signal }),
  })
  const enterprise = detail.data?.data
  const canUpdate = mayIn(scope, 'enterprise.update')
  const parts = enterprise === undefined ? null : { scope, enterprise, etag: detail.data?.etag ?? null }
  return (
    <Page title={t('title')} about={canUpdate ? t('about') : t('readOnly')}>
      {detail.isPending && <TableSkeleton label={common('loading')} />}
      {enterprise === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
      {parts !== null && (
        <>
          <Part title={t('general')}>{canUpdate ? <General {...parts} /> : <GeneralFacts {...parts} />}</Part>
          <Part title={t('budgets')} about={t('budgetsAbout')}>
            <Caps {...parts} />
            {canUpdate && <Budgets {...parts} />}
          </Part>
          <Part title={t('capture')} about={t('captureAbout')}>
            {canUpdate ? <Capture {...parts} /> : <CaptureFacts {...parts} />}
          </Part>
          <Part title={t('danger')}>
            <DangerZone scope={scope} enterprise={parts.enterprise} />
          </Part>
        </>
      )}
    </Page>
  )
}

interface PartProps {
  readonly title: string
  readonly about?: string
  readonly children: ReactNode
}

function Part({ title, about, children }: PartProps): ReactNode {
  return (
    <section className={classes.section} aria-label={title}>
      <h2>{title}</h2>
      {about !== undefined && <p className={classes.about}>{about}</p>}
      {children}
    </section>
  )
}
