import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { bytes } from '../../format/numbers.ts'
import { CopyIcon } from '../../parts/copy.tsx'
import { Figures } from '../../parts/figures.tsx'
import { Grid } from '../../parts/grid.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Count, Duration, Nothing, Time, useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import layout from '../../parts/layout.module.css'

const EVERY_MS = 5_000
const LIMIT = 50

/** Records on their way to the database, and those that could not become rows. */
export function Journal(): ReactNode {
  const t = useWords('relay')
  const url = useUrlState()
  const cursor = url.query.get('cursor')
  const journal = useRead('adminJournal', {}, { everyMs: EVERY_MS })
  const letters = useRead(
    'adminDeadLetters',
    { query: { limit: LIMIT, ...(cursor === null ? {} : { cursor }) } },
    { keepsOld: true },
  )
  const next = letters.data?.next_cursor ?? null
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
      <section className={layout.block}>
        <h2 className={layout.title}>{t('letters.title')}</h2>
        <p className={layout.note}>{t('letters.about')}</p>
        <Listing
          list={letters}
          noMatch={cursor === null ? null : t('letters.none')}
          onClear={() => {
            url.set({ cursor: null })
          }}
          empty={<Empty icon="check" title={t('letters.none')} text={t('letters.noneAbout')} />}
        >
          {(rows) => (
            <>
              <Grid
                label={t('letters.title')}
                rows={rows}
                idOf={({ node, segment, position }) => `${node} ${segment} ${position}`}
                columns={[
                  { head: t('letters.time'), cell: ({ time }) => <Time at={time} /> },
                  { head: t('letters.reason'), cell: ({ reason }) => reason },
                  {
                    head: t('letters.place'),
                    cell: ({ node, segment, position }) => (
                      <code>
                        {node} {segment} {position}
                      </code>
                    ),
                  },
                ]}
                actsOf={({ bytes: text }) => <CopyIcon text={text} label={t('letters.copy')} />}
              />
              <div className={layout.acts}>
                {cursor !== null && (
                  <Button
                    variant="default"
                    onClick={() => {
                      url.set({ cursor: null })
                    }}
                  >
                    {t('letters.first')}
                  </Button>
                )}
                {next !== null && (
                  <Button
                    variant="default"
                    onClick={() => {
                      url.set({ cursor: next })
                    }}
                  >
                    {t('letters.next')}
                  </Button>
                )}
              </div>
            </>
          )}
        </Listing>
      </section>
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
