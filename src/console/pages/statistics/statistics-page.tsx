import { Button, Select, TextInput } from '@mantine/core'
import { lazy, Suspense, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { date } from '../../format/time.ts'
import { duration, exact, short } from '../../format/numbers.ts'
import { useGroupNames } from '../../parts/group-names.ts'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { PeriodChoice } from '../../parts/period-choice.tsx'
import { BUCKET_MS, PERIODS } from '../../parts/periods.ts'
import { saveFile } from '../../parts/save-file.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { TableSkeleton } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { useUsage } from '../../parts/usage.ts'
import type { Usage } from '../../parts/usage.ts'
import { useLocale, useMoney } from '../../parts/values.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { AddFilter, FilterBar } from '../requests/filter-bar.tsx'
import { COUNTED, FILTER_NAMES, isFiltered } from '../requests/filter.ts'
import { csvOf } from './csv.ts'
import { GroupTable } from './group-table.tsx'
import { bucketsFor, groupsOf, isSum, METRICS, questionOf, TOPS, usageQueryOf, valueOf } from './question.ts'
import type { GroupBy, Metric, Question } from './question.ts'
import { seriesOf } from './series-of.ts'
import classes from './statistics-page.module.css'

const HEIGHT = 280
const TAG = 'tag'
const NONE = 'none'

/** Drawn by a library that the table does not wait for. */
const SeriesChart = lazy(async () => ({ default: (await import('../../parts/series-chart.tsx')).SeriesChart }))

export function StatisticsPage({ scope }: PageProps): ReactNode {
  const t = useWords('statistics')
  const common = useWords('common')
  const url = useUrlState()
  const { zone } = useZone()
  const question = useMemo(() => questionOf(url.query, scope), [url.query, scope])
  const usage = useUsage(scope, usageQueryOf(question, zone), { keepsOld: true })
  const nameOf = useNames(scope, question.groupBy)
  const { data } = usage
  const clear = (): void => {
    url.set(Object.fromEntries(FILTER_NAMES.map((name) => [name, null])))
  }
  const setFilter = (name: string, values: readonly string[]): void => {
    url.set({ [name]: values })
  }
  return (
    <Page
      title={t('title')}
      about={t('about')}
      acts={
        <Button
          variant="default"
          leftSection={<Icon name="download" size={14} />}
          disabled={data === undefined || data.series.length === 0}
          title={data?.series.length === 0 ? t('nothingToSave') : t('csvAbout')}
          onClick={() => {
            if (data === undefined) return
            const text = csvOf(data, question.groupBy, ({ group, others }) =>
              others ? t('others') : nameOf(group ?? ''),
            )
            saveFile(new Blob([text], { type: 'text/csv' }), 'statistics.csv')
          }}
        >
          {t('csv')}
        </Button>
      }
    >
      <Controls scope={scope} question={question} set={url.set}>
        <AddFilter scope={scope} filter={question.filter} onSet={setFilter} among={COUNTED} />
      </Controls>
      <FilterBar scope={scope} filter={{ ...question.filter, search: '' }} onSet={setFilter} onClear={clear} />
      {data === undefined && usage.isError && (
        <Failed
          cause={usage.error}
          retry={() => {
            void usage.refetch()
          }}
        />
      )}
      {data === undefined && usage.isPending && <TableSkeleton label={common('loading')} />}
      {data !== undefined && data.totals.requests === 0 && (
        <Empty icon="chart" title={t('empty')} text={t('emptyAbout')}>
          {isFiltered({ ...question.filter, search: '' }) && (
            <Button variant="default" onClick={clear}>
              {common('clearFilters')}
            </Button>
          )}
        </Empty>
      )}
      {data !== undefined && data.totals.requests > 0 && (
        <div className={classes.content} data-old={usage.isPlaceholderData || undefined}>
          <Chart
            question={question}
            usage={data}
            nameOf={nameOf}
            onSelect={(from, to) => {
              url.set({ range: null, bucket: null, from: from.toISOString(), to: to.toISOString() })
            }}
          />
          <GroupTable scope={scope} question={question} usage={data} nameOf={nameOf} zone={zone} />
        </div>
      )}
    </Page>
  )
}

/** The names of groups, and of what has none. */
function useNames(scope: Scope, groupBy: GroupBy | null): (group: string) => string {
  const t = useWords('statistics')
  const nameOf = useGroupNames(scope, groupBy ?? '')
  return (group) => {
    if (group === '' || (groupBy === 'status' && group === '0'))
      return groupBy === 'status' ? t('interrupted') : t('none')
    return nameOf(group)
  }
}

interface ControlsProps {
  readonly scope: Scope
  readonly question: Question
  readonly set: ReturnType<typeof useUrlState>['set']
  readonly children: ReactNode
}

function Controls({ scope, question, set, children }: ControlsProps): ReactNode {
  const t = useWords('statistics')
  const locale = useLocale()
  const { zone } = useZone()
  const { fixed, period, bucket, metric, top, groupBy } = question
  const buckets = bucketsFor(fixed === null ? PERIODS[period].ms : fixed.toMs - fixed.fromMs)
  return (
    <>
      <div className={classes.tools}>
        <PeriodChoice
          value={fixed === null ? period : null}
          onChange={(chosen) => {
            set({ range: chosen === '7d' ? null : chosen, from: null, to: null, bucket: null })
          }}
        />
        {fixed !== null && (
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="cross" size={12} />}
            title={t('wholePeriod')}
            onClick={() => {
              set({ from: null, to: null, bucket: null })
            }}
          >
            {new Intl.DateTimeFormat(locale, { timeZone: zone, dateStyle: 'medium', timeStyle: 'short' }).formatRange(
              fixed.fromMs,
              fixed.toMs,
            )}
          </Button>
        )}
        {children}
      </div>
      <div className={classes.controls}>
        <Select
          label={t('metric')}
          value={metric}
          data={METRICS.map((value) => ({ value, label: t(`metrics.${value}`) }))}
          onChange={(value) => {
            set({ metric: value === 'requests' ? null : value })
          }}
        />
        <GroupChoice
          scope={scope}
          label={t('group')}
          value={groupBy}
          onChange={(value) => {
            set({ group: value ?? NONE, sub: null })
          }}
        />
        {groupBy !== null && (
          <GroupChoice
            scope={scope}
            label={t('subgroup')}
            value={question.subgroup}
            without={groupBy}
            onChange={(value) => {
              set({ sub: value })
            }}
          />
        )}
        <Select
          label={t('bucket')}
          value={bucket}
          data={buckets.map((value) => ({ value, label: t(`buckets.${value}`) }))}
          onChange={(value) => {
            set({ bucket: value })
          }}
        />
        {groupBy !== null && (
          <Select
            label={t('top')}
            value={String(top)}
            data={TOPS.map((value) => ({ value: String(value), label: t('firstGroups', { count: value }) }))}
            onChange={(value) => {
              set({ top: value === String(TOPS[0]) ? null : value })
            }}
          />
        )}
      </div>
    </>
  )
}

interface GroupChoiceProps {
  readonly scope: Scope
  readonly label: string
  readonly value: GroupBy | null
  readonly without?: GroupBy
  readonly onChange: (value: GroupBy | null) => void
}

/** A dimension, or the name of a tag. */
function GroupChoice({ scope, label, value, without, onChange }: GroupChoiceProps): ReactNode {
  const t = useWords('statistics')
  const isTag = value?.startsWith('tag:') === true
  const [wantsTag, setWantsTag] = useState(isTag)
  const [name, setName] = useState(isTag ? value.slice(4) : '')
  const isNaming = isTag || wantsTag
  const apply = (): void => {
    if (name.trim() !== '') onChange(`tag:${name.trim()}`)
  }
  return (
    <>
      <Select
        label={label}
        value={isNaming ? TAG : (value ?? NONE)}
        data={[
          { value: NONE, label: t('noGroup') },
          ...groupsOf(scope)
            .filter((one) => one !== without)
            .map((one) => ({ value: one, label: t(`groups.${one}`) })),
          { value: TAG, label: t('groups.tag') },
        ]}
        onChange={(chosen) => {
          setWantsTag(chosen === TAG)
          if (chosen !== TAG) onChange(chosen === NONE || chosen === null ? null : chosen)
        }}
      />
      {isNaming && (
        <TextInput
          label={t('tagName')}
          placeholder={t('tagExample')}
          value={name}
          maxLength={64}
          onChange={(event) => {
            setName(event.currentTarget.value)
          }}
          onBlur={apply}
          onKeyDown={(event) => {
            if (event.key === 'Enter') apply()
          }}
        />
      )}
    </>
  )
}

interface ChartProps {
  readonly question: Question
  readonly usage: Usage
  readonly nameOf: (group: string) => string
  readonly onSelect: (from: Date, to: Date) => void
}

function Chart({ question, usage, nameOf, onSelect }: ChartProps): ReactNode {
  const t = useWords('statistics')
  const formats = useFormats(question.metric)
  const locale = useLocale()
  const { zone } = useZone()
  const [all, others] = [t(`metrics.${question.metric}`), t('others')]
  // Names are loaded after the sums: the chart follows them.
  const names = usage.groups.map(({ group }) => nameOf(group ?? '')).join('\n')
  const drawn = useMemo(
    () => seriesOf(usage, question.metric, { all, others, nameOf }),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- nameOf is new in every render; its names are not
    [usage, question.metric, all, others, names],
  )
  const days = { locale, zone }
  const total = valueOf(question.metric, usage.totals)
  return (
    <div title={t('zoom')}>
      <Suspense fallback={<div style={{ height: HEIGHT + 24 }} />}>
        <SeriesChart
          times={drawn.times}
          series={drawn.series}
          kind={isSum(question.metric) ? 'bars' : 'lines'}
          fromMs={Date.parse(usage.from)}
          toMs={Date.parse(usage.to)}
          stepMs={BUCKET_MS[question.bucket]}
          format={formats.short}
          formatTick={formats.tick}
          label={t('chart', {
            metric: t(`metrics.${question.metric}`),
            value: total === null ? '—' : formats.exact(total),
            from: date(new Date(usage.from), days),
            to: date(new Date(usage.to), days),
          })}
          height={HEIGHT}
          onSelect={onSelect}
        />
      </Suspense>
    </div>
  )
}

interface Formats {
  readonly short: (value: number) => string
  readonly exact: (value: number) => string
  readonly tick?: (value: number, step: number) => string
}

function useFormats(metric: Metric): Formats {
  const locale = useLocale()
  const money = useMoney()
  if (metric === 'cost') {
    return { short: (value) => money.shortMoney(Math.round(value)), exact: money.exactMoney, tick: money.axisMoney }
  }
  if (isSum(metric)) return { short: (value) => short(value, locale), exact: (value) => exact(value, locale) }
  const text = (value: number): string => duration(value, locale)
  return { short: text, exact: text }
}
