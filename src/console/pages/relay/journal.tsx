import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { bytes } from '../../format/numbers.ts'
import { Figures } from '../../parts/figures.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Failed } from '../../parts/states.tsx'
import { Count, Duration, Nothing, useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { DeadLetters } from './dead-letters.tsx'

const EVERY_MS = 5_000

/** Records on their way to the database, and those that could not become rows. */
export function Journal(): ReactNode {
  const journal = useRead('adminJournal', {}, { everyMs: EVERY_MS })
  return (
    <>
      {journal.data === undefined && journal.isError && (
        <Failed
          cause={journal.error}
          retry={() => {
            void journal.refetch()
          }}
        />
      )}
      {journal.data !== undefined && <State shown={journal.data} />}
      <DeadLetters />
    </>
  )
}

interface StateProps {
  readonly shown: {
    readonly status: 'ok' | 'behind'
    readonly lag_seconds: number
    readonly unsettled_bytes: number
    readonly disk_free_bytes: number | null
    readonly dead_letters: number
  }
}

function State({ shown }: StateProps): ReactNode {
  const t = useWords('relay')
  const locale = useLocale()
  return (
    <Figures
      label={t('tabs.journal')}
      figures={[
        {
          name: t('journal.state'),
          value:
            shown.status === 'ok' ? (
              <Badge tone="good" icon="check">
                {t('journal.ok')}
              </Badge>
            ) : (
              <Badge tone="bad" icon="alert">
                {t('journal.behind')}
              </Badge>
            ),
        },
        { name: t('journal.lag'), value: <Duration ms={shown.lag_seconds * 1_000} />, note: t('journal.lagNote') },
        { name: t('journal.unsettled'), value: bytes(shown.unsettled_bytes, locale) },
        {
          name: t('journal.disk'),
          value:
            shown.disk_free_bytes === null ? (
              <Nothing why={t('journal.diskUnknown')} />
            ) : (
              bytes(shown.disk_free_bytes, locale)
            ),
        },
        { name: t('letters.title'), value: <Count value={shown.dead_letters} /> },
      ]}
    />
  )
}
