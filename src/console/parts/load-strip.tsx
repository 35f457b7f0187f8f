import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { Badge } from './badge.tsx'
import { Figures } from './figures.tsx'
import type { Figure } from './figures.tsx'
import type { Load } from './use-load.ts'
import { Count, Nothing } from './values.tsx'

interface LoadStripProps {
  readonly load: Load
  /** Other figures of this moment, after those of the load. */
  readonly more?: readonly Figure[]
}

/** The load of the platform at this moment. */
export function LoadStrip({ load: { now, isLost }, more = [] }: LoadStripProps): ReactNode {
  const t = useWords('common')
  const value = (count: number | undefined): ReactNode =>
    count === undefined ? <Nothing why={t('load.waiting')} /> : <Count value={count} isShort />
  return (
    <>
      {isLost && (
        <p style={{ margin: '0 0 8px' }}>
          <Badge tone="warn" icon="clock">
            {t('load.lost')}
          </Badge>
        </p>
      )}
      <Figures
        label={t('load.label')}
        figures={[
          { name: t('load.rpm'), value: value(now?.rpm) },
          { name: t('load.tpm'), value: value(now?.tpm) },
          { name: t('load.queue'), value: value(now?.waiting), note: t('load.queueAbout') },
          { name: t('load.fronts'), value: value(now?.fronts) },
          ...more,
        ]}
      />
    </>
  )
}
