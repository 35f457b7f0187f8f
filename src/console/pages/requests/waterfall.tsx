import type { ReactNode } from 'react'
import { duration } from '../../format/numbers.ts'
import { useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import type { Attempt, LogDetail } from './log-calls.ts'
import classes from './waterfall.module.css'

const US_PER_MS = 1_000
/** Below this share of the width a bar could not be seen. */
const MIN_SHARE = 0.004

interface Bar {
  readonly key: string
  readonly text: string
  readonly note: string | null
  readonly tone: 'wait' | 'work' | 'good' | 'bad'
  readonly startUs: number
  readonly lengthUs: number
}

/** The phases of the request over time, and below them each attempt at an upstream. */
export function Waterfall({ detail }: { readonly detail: LogDetail }): ReactNode {
  const t = useWords('requests')
  const locale = useLocale()
  const bars = barsOf(detail, t)
  const wholeUs = Math.max(1, detail.total_us, ...bars.map(({ startUs, lengthUs }) => startUs + lengthUs))
  return (
    <ol className={classes.bars}>
      {bars.map(({ key, text, note, tone, startUs, lengthUs }) => (
        <li key={key} className={classes.bar}>
          <span className={classes.text} title={note ?? text}>
            {text}
          </span>
          <span className={classes.track} aria-hidden="true">
            <span
              className={classes.fill}
              data-tone={tone}
              style={{
                left: `${(startUs / wholeUs) * 100}%`,
                width: `${Math.max(MIN_SHARE, lengthUs / wholeUs) * 100}%`,
              }}
            />
          </span>
          <span className={classes.time}>{duration(lengthUs / US_PER_MS, locale)}</span>
          {note !== null && <span className={classes.note}>{note}</span>}
        </li>
      ))}
    </ol>
  )
}

function barsOf(detail: LogDetail, t: ReturnType<typeof useWords<'requests'>>): readonly Bar[] {
  const { queue_us: queueUs, ttft_us: ttftUs, total_us: totalUs, attempts } = detail
  const phase = (key: 'queue' | 'firstByte' | 'answer' | 'whole', startUs: number, lengthUs: number): Bar => ({
    key,
    text: t(`phases.${key}`),
    note: null,
    tone: key === 'queue' ? 'wait' : 'work',
    startUs,
    lengthUs: Math.max(0, lengthUs),
  })
  const phases =
    ttftUs === null
      ? [...(queueUs > 0 ? [phase('queue', 0, queueUs)] : []), phase('whole', queueUs, totalUs - queueUs)]
      : [
          ...(queueUs > 0 ? [phase('queue', 0, queueUs)] : []),
          phase('firstByte', queueUs, ttftUs - queueUs),
          phase('answer', ttftUs, totalUs - ttftUs),
        ]
  if (typeof attempts === 'number') return phases
  return [...phases, ...attempts.map((attempt, at) => attemptBar(attempt, at, t))]
}

function attemptBar(attempt: Attempt, at: number, t: ReturnType<typeof useWords<'requests'>>): Bar {
  const { providerId, upstreamKeyId, status, outcome, startUs, durationUs, choice } = attempt
  const isOk = outcome === 'ok'
  const others = (choice?.others ?? []).map(([id, why]) => `${id}: ${typeof why === 'number' ? why.toFixed(2) : why}`)
  const notes = [
    `${providerId} / ${upstreamKeyId}`,
    isOk ? String(status) : `${status} ${outcome}`,
    ...(choice === null ? [] : [t(`choices.${choice.how}`)]),
    ...(others.length === 0 ? [] : [t('others', { others: others.join(', ') })]),
  ]
  return {
    key: `attempt-${at}`,
    text: t('attempt', { number: at + 1 }),
    note: notes.join(' · '),
    tone: isOk ? 'good' : 'bad',
    startUs,
    lengthUs: durationUs,
  }
}
