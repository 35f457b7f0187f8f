import { ActionIcon, Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import type { ItemOf } from '../../../client/index.ts'
import { failureOf } from '../../api/failures.ts'
import { isSilent, refresh, useRead } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { bytes } from '../../format/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyIcon } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Grid } from '../../parts/grid.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Empty } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Time, useLocale, useMoney } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import layout from '../../parts/layout.module.css'

const LIMIT = 50

type Letter = ItemOf<'adminDeadLetters'>

/** Records that could not become rows: each can be settled once more, or thrown away. */
export function DeadLetters(): ReactNode {
  const t = useWords('relay')
  const url = useUrlState()
  const cursor = url.query.get('cursor')
  const letters = useRead(
    'adminDeadLetters',
    { query: { limit: LIMIT, ...(cursor === null ? {} : { cursor }) } },
    { keepsOld: true },
  )
  const { retry, busyId, refused } = useRetry()
  const [discarded, setDiscarded] = useState<Letter | null>(null)
  const next = letters.data?.next_cursor ?? null
  return (
    <section className={layout.block}>
      <h2 className={layout.title}>{t('letters.title')}</h2>
      <p className={layout.note}>{t('letters.about')}</p>
      {refused !== null && (
        <p role="alert" className={layout.inline}>
          <Badge tone="bad" icon="alert">
            {t('letters.notRetried')}
          </Badge>
          {refused}
        </p>
      )}
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
              idOf={({ id }) => id}
              columns={[
                { head: t('letters.time'), cell: ({ time }) => <Time at={time} /> },
                { head: t('letters.reason'), cell: ({ reason }) => reason },
                { head: t('letters.place'), cell: (letter) => <Place letter={letter} /> },
              ]}
              actsOf={(letter) => (
                <span className={layout.inline} style={{ flexWrap: 'nowrap', justifyContent: 'flex-end' }}>
                  <CopyIcon text={letter.bytes} label={t('letters.copy')} />
                  <Button
                    variant="default"
                    size="compact-sm"
                    loading={busyId === letter.id}
                    disabled={busyId !== null && busyId !== letter.id}
                    leftSection={<Icon name="refresh" size={14} />}
                    onClick={() => {
                      retry(letter)
                    }}
                  >
                    {t('letters.retry')}
                  </Button>
                  <ActionIcon
                    aria-label={t('letters.discard')}
                    title={t('letters.discard')}
                    size={24}
                    onClick={() => {
                      setDiscarded(letter)
                    }}
                  >
                    <Icon name="trash" size={14} />
                  </ActionIcon>
                </span>
              )}
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
      {discarded !== null && (
        <Discard
          letter={discarded}
          onClose={() => {
            setDiscarded(null)
          }}
        />
      )}
    </section>
  )
}

function Place({ letter: { node, segment, position } }: { readonly letter: Letter }): ReactNode {
  return (
    <code>
      {node} {segment} {position}
    </code>
  )
}

function reread(): Promise<unknown> {
  return refresh('adminDeadLetters', 'adminJournal')
}

interface Retry {
  readonly retry: (letter: Letter) => void
  /** Of the letter that is being retried. */
  readonly busyId: string | null
  /** The gateway's own words about the last one that it did not settle. */
  readonly refused: string | null
}

function useRetry(): Retry {
  const t = useWords('relay')
  const { money } = useMoney()
  const [busyId, setBusyId] = useState<string | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const run = async ({ id }: Letter): Promise<void> => {
    setBusyId(id)
    setRefused(null)
    try {
      const { request_id: request, cost } = await call('adminRetryDeadLetter', { params: { id } })
      toast('good', t('letters.retried', { request, cost: money(cost) }))
    } catch (cause) {
      const { title, detail } = failureOf(cause)
      if (!isSilent(cause)) setRefused(detail ?? title)
    } finally {
      setBusyId(null)
    }
    await reread()
  }
  return {
    retry: (letter) => {
      void run(letter)
    },
    busyId,
    refused,
  }
}

function Discard({ letter, onClose }: { readonly letter: Letter; readonly onClose: () => void }): ReactNode {
  const t = useWords('relay')
  const locale = useLocale()
  const sizeBytes = Math.floor((letter.bytes.length * 3) / 4)
  return (
    <Confirm
      title={t('letters.discardTitle')}
      act={t('letters.discard')}
      onClose={onClose}
      onConfirm={async () => {
        await call('adminDiscardDeadLetter', { params: { id: letter.id } })
        await reread()
        toast('good', t('letters.discarded'))
      }}
    >
      <p>{t('letters.discardAbout')}</p>
      <Facts
        rows={[
          [t('letters.time'), <Time key="time" at={letter.time} />],
          [t('letters.reason'), letter.reason],
          [t('letters.place'), <Place key="place" letter={letter} />],
          [t('letters.size'), bytes(sizeBytes, locale)],
        ]}
      />
    </Confirm>
  )
}
