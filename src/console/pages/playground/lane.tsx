import type { ReactNode } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { isNotFound } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { FormError } from '../../parts/states.tsx'
import { Count, Duration, Money, Nothing } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { Exchange, Lane as LaneState } from './use-lanes.ts'
import classes from './playground-page.module.css'

const AGAIN_MS = 1_000
/** A request is in the log a second after its end; on a busy gateway later. */
const MOST_TRIES = 20

interface LaneProps {
  readonly scope: Scope
  readonly lane: LaneState
  readonly model: string
}

export function Lane({ scope, lane, model }: LaneProps): ReactNode {
  const t = useWords('playground')
  return (
    <section className={classes.lane} aria-label={model}>
      <h2 className={classes.laneTitle}>{model}</h2>
      <div className={classes.turns} aria-live="polite">
        {lane.before.map(({ role, text }, at) => (
          <p key={at} className={role === 'user' ? classes.question : classes.answer}>
            {text}
          </p>
        ))}
        {lane.exchanges.map((exchange, at) => (
          <Shown key={at} scope={scope} exchange={exchange} />
        ))}
        {lane.exchanges.length === 0 && <p className="muted">{lane.before.length === 0 ? t('nothing') : t('again')}</p>}
      </div>
    </section>
  )
}

function Shown({ scope, exchange }: { readonly scope: Scope; readonly exchange: Exchange }): ReactNode {
  const t = useWords('playground')
  const { question, answer, state, cause } = exchange
  return (
    <>
      <p className={classes.question}>{question}</p>
      {answer.text !== '' && <p className={classes.answer}>{answer.text}</p>}
      {state === 'running' && answer.text === '' && <p className="muted">{t('waiting')}</p>}
      {state === 'stopped' && <p className="muted note">{t('stopped')}</p>}
      {state === 'failed' && <FormError cause={cause} />}
      <Facts scope={scope} exchange={exchange} />
    </>
  )
}

/** The browser's times and the stream's tokens at once; what the request cost when the log has it. */
function Facts({
  scope,
  exchange: { answer, state },
}: {
  readonly scope: Scope
  readonly exchange: Exchange
}): ReactNode {
  const t = useWords('playground')
  const { requestId, ttftMs, totalMs, tokens } = answer
  const isLogged = requestId !== null && state !== 'running' && mayIn(scope, 'logs.read')
  const row = useQuery({
    queryKey: ['playground', scope.kind, requestId],
    enabled: isLogged,
    staleTime: Infinity,
    retry: (count, failed) => isNotFound(failed) && count < MOST_TRIES,
    retryDelay: AGAIN_MS,
    queryFn: ({ signal }) =>
      scope.kind === 'enterprise'
        ? call('getEnterpriseLog', { params: { id: scope.id, logId: requestId ?? '' } }, { signal, maxRetries: 0 })
        : call('getLog', { params: { id: requestId ?? '' } }, { signal, maxRetries: 0 }),
  })
  if (requestId === null) return null
  const fact = (name: string, value: ReactNode): ReactNode => (
    <span>
      <span className="muted">{name}</span> {value}
    </span>
  )
  const cost = row.data?.cost
  return (
    <div className={classes.facts}>
      {ttftMs !== null && fact(t('facts.ttft'), <Duration ms={ttftMs} />)}
      {totalMs !== null && fact(t('facts.total'), <Duration ms={totalMs} />)}
      {tokens !== null && (
        <>
          {fact(t('facts.input'), <Count value={tokens.input} />)}
          {fact(t('facts.output'), <Count value={tokens.output} />)}
        </>
      )}
      {isLogged &&
        fact(
          t('facts.cost'),
          row.isPending ? (
            '…'
          ) : cost === undefined || cost === null ? (
            <Nothing why={t('noCost')} />
          ) : (
            <Money micro={cost} />
          ),
        )}
      {isLogged && row.data !== undefined && (
        <Link href={`${pathIn(scope, '/requests')}/${encodeURIComponent(requestId)}`}>{t('facts.request')}</Link>
      )}
    </div>
  )
}
