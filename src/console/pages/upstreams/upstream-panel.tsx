import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useDetail, useRead } from '../../api/queries.ts'
import { exact } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Duration, Nothing, TimeOr, useLocale } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { TestUpstream } from './test-upstream.tsx'
import { changeUpstream, deleteUpstream } from './upstream-calls.ts'
import type { Upstream, Work } from './upstream-calls.ts'
import { TIMEOUTS } from './upstream-draft.ts'
import { UpstreamKeys } from './upstream-keys.tsx'
import { UpstreamSettings } from './upstream-settings.tsx'
import { UpstreamState } from './upstream-state.tsx'
import layout from '../../parts/layout.module.css'

interface UpstreamPanelProps {
  readonly scope: Scope
  readonly id: string
  readonly work: Work
  readonly onClose: () => void
}

export function UpstreamPanel({ scope, id, work, onClose }: UpstreamPanelProps): ReactNode {
  const t = useWords('upstreams')
  const detail = useDetail('adminGetUpstream', { params: { id } })
  const shown = detail.data?.data
  return (
    <Panel title={shown?.name ?? id} label={t('upstream')} onClose={onClose} width={600}>
      {shown !== undefined && (
        <Detail key={id} scope={scope} shown={shown} etag={detail.data?.etag ?? null} work={work} onClose={onClose} />
      )}
      {shown === undefined && detail.isError && (
        <Failed
          cause={detail.error}
          retry={() => {
            void detail.refetch()
          }}
        />
      )}
    </Panel>
  )
}

interface DetailProps {
  readonly scope: Scope
  readonly shown: Upstream
  readonly etag: string | null
  readonly work: Work
  readonly onClose: () => void
}

function Detail({ scope, shown, etag, work, onClose }: DetailProps): ReactNode {
  const t = useWords('upstreams')
  const [dialog, setDialog] = useState<'test' | 'delete' | null>(null)
  const isStored = shown.source === 'stored'
  const close = (): void => {
    setDialog(null)
  }
  const toggle = useToggle(shown)
  const or = (value: string | null): ReactNode => value ?? <Nothing why={t('unknownSetting')} />
  return (
    <>
      {shown.problem !== null && (
        <p className={layout.warning}>
          <Icon name="alert" />
          {shown.problem}
        </p>
      )}
      <Facts
        rows={[
          [t('columns.state'), <UpstreamState key="state" shown={shown} work={work} />],
          [t('columns.source'), t(`sourcesLong.${shown.source}`)],
          [t('fields.provider'), or(shown.provider)],
          [t('fields.dialect'), or(shown.dialect)],
          [t('fields.base_url'), <code key="url">{or(shown.base_url)}</code>],
        ]}
      />
      <div className={layout.acts}>
        <Button
          variant="default"
          leftSection={<Icon name="pulse" size={14} />}
          disabled={shown.keys.length === 0}
          title={shown.keys.length === 0 ? t('about.noKey') : undefined}
          onClick={() => {
            setDialog('test')
          }}
        >
          {t('test')}
        </Button>
        <Button
          variant="default"
          component={Link}
          href={`${pathIn(scope, '/requests')}?provider=${encodeURIComponent(shown.id)}`}
          leftSection={<Icon name="list" size={14} />}
        >
          {t('seeRequests')}
        </Button>
        {isStored && (
          <>
            <Button variant="default" leftSection={<Icon name="power" size={14} />} onClick={toggle}>
              {shown.enabled ? t('drain') : t('turnOn')}
            </Button>
            <Button
              variant="default"
              leftSection={<Icon name="trash" size={14} />}
              onClick={() => {
                setDialog('delete')
              }}
            >
              {t('delete')}
            </Button>
          </>
        )}
      </div>
      <Section title={t('keys')}>
        <UpstreamKeys upstream={shown} work={work} />
      </Section>
      <Section title={t('columns.models')}>
        {shown.models.length === 0 ? (
          <p className="muted">{t('noModels')}</p>
        ) : (
          <ul style={{ margin: 0, paddingLeft: 18 }}>
            {shown.models.map((model) => (
              <li key={`${model.id} ${model.upstream_model}`}>
                <Link href={`${pathIn(scope, '/models')}/${encodeURIComponent(model.id)}`}>
                  <code>{model.id}</code>
                </Link>
                {model.upstream_model !== model.id && (
                  <span className="muted"> {t('servedAs', { name: model.upstream_model })}</span>
                )}
              </li>
            ))}
          </ul>
        )}
      </Section>
      {isStored ? (
        <Section title={t('settings')}>
          <UpstreamSettings shown={shown} etag={etag} />
        </Section>
      ) : (
        <Section title={t('settings')}>
          <p className={layout.note}>{t(`readOnly.${shown.source === 'file' ? 'file' : 'built-in'}`)}</p>
          {shown.timeouts !== null && (
            <Facts
              rows={TIMEOUTS.map((name) => [
                t(`timeouts.${name}`),
                <Duration key={name} ms={shown.timeouts?.[name] ?? 0} />,
              ])}
            />
          )}
        </Section>
      )}
      <Facts
        rows={[[t('changedAt'), <TimeOr key="changed" at={shown.updated_at} why={t('readOnly.file')} isRelative />]]}
      />
      {dialog === 'test' && <TestUpstream upstream={shown} keyId={null} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteUpstream shown={shown} work={work} onClose={close} onDeleted={onClose} toggle={toggle} />
      )}
    </>
  )
}

/** Running requests go on, new ones go elsewhere: that is how an upstream is drained. */
function useToggle({ id, name, enabled }: Upstream): () => void {
  const t = useWords('upstreams')
  const set = (next: boolean, told: () => void): void => {
    changeUpstream(id, { enabled: next }, null).then(told, tellFailure)
  }
  return () => {
    set(!enabled, () => {
      toast('good', t(enabled ? 'turnedOff' : 'turnedOn', { name }), () => {
        set(enabled, () => undefined)
      })
    })
  }
}

interface DeleteUpstreamProps {
  readonly shown: Upstream
  readonly work: Work
  readonly onClose: () => void
  readonly onDeleted: () => void
  readonly toggle: () => void
}

function DeleteUpstream({ shown, work, onClose, onDeleted, toggle }: DeleteUpstreamProps): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  const week = useRead('adminRelayStats', { query: { period: '7d' } })
  const requests = (week.data?.upstream_keys ?? [])
    .filter((one) => one.provider_id === shown.id)
    .reduce((sum, one) => sum + one.requests, 0)
  const running = shown.keys.reduce((sum, { id }) => sum + (work.liveOf(id)?.slots_used ?? 0), 0)
  return (
    <Confirm
      title={t('deleteTitle', { name: shown.name })}
      act={t('delete')}
      name={shown.name}
      onClose={onClose}
      onConfirm={async () => {
        await deleteUpstream(shown.id)
        onDeleted()
        toast('good', t('deleted', { name: shown.name }))
      }}
      instead={
        shown.enabled ? (
          <Button
            variant="default"
            onClick={() => {
              toggle()
              onClose()
            }}
          >
            {t('drainInstead')}
          </Button>
        ) : undefined
      }
    >
      <p>{t('deleteAbout', { keys: exact(shown.keys.length, locale), models: exact(shown.models.length, locale) })}</p>
      <p>
        <strong>
          {week.isPending
            ? t('counting')
            : t('loss', { requests: exact(requests, locale), running: exact(running, locale) })}
        </strong>
      </p>
    </Confirm>
  )
}
