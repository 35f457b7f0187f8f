import { ActionIcon, Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { exact, percent } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Slots } from '../../parts/slots.tsx'
import { toast } from '../../parts/toasts.tsx'
import { tellFailure } from '../../parts/told.ts'
import { Count, Duration, Nothing, useLocale } from '../../parts/values.tsx'
import type { LiveKey } from '../../parts/use-load.ts'
import { useWords } from '../../words/index.ts'
import { changeUpstreamKey, deleteUpstreamKey } from './upstream-calls.ts'
import type { Upstream, UpstreamKey, Work } from './upstream-calls.ts'
import { KeyForm } from './key-form.tsx'
import { TestUpstream } from './test-upstream.tsx'
import { UpstreamKeyState } from './upstream-state.tsx'
import classes from './upstream-keys.module.css'

type Dialog = { readonly kind: 'test' | 'edit' | 'delete'; readonly key: UpstreamKey } | { readonly kind: 'new' }

interface UpstreamKeysProps {
  readonly upstream: Upstream
  readonly work: Work
}

/** The keys of an upstream: their state now, and what each served in the last day. */
export function UpstreamKeys({ upstream, work }: UpstreamKeysProps): ReactNode {
  const t = useWords('upstreams')
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const close = (): void => {
    setDialog(null)
  }
  const isStored = upstream.source === 'stored'
  return (
    <>
      <ul className={classes.keys} aria-label={t('keys')}>
        {upstream.keys.map((key) => (
          <Key key={key.id} upstreamId={upstream.id} shown={key} work={work} onDialog={setDialog} />
        ))}
      </ul>
      {upstream.keys.length === 0 && <p className="muted">{t('about.noKey')}</p>}
      {isStored && (
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            setDialog({ kind: 'new' })
          }}
        >
          {t('addKey')}
        </Button>
      )}
      {dialog?.kind === 'new' && <KeyForm upstreamId={upstream.id} shown={null} onClose={close} />}
      {dialog?.kind === 'edit' && <KeyForm upstreamId={upstream.id} shown={dialog.key} onClose={close} />}
      {dialog?.kind === 'test' && <TestUpstream upstream={upstream} keyId={dialog.key.id} onClose={close} />}
      {dialog?.kind === 'delete' && (
        <DeleteKey upstreamId={upstream.id} shown={dialog.key} work={work} onClose={close} />
      )}
    </>
  )
}

interface KeyProps {
  readonly upstreamId: string
  readonly shown: UpstreamKey
  readonly work: Work
  readonly onDialog: (dialog: Dialog) => void
}

function Key({ upstreamId, shown, work, onDialog }: KeyProps): ReactNode {
  const t = useWords('upstreams')
  const locale = useLocale()
  const live = work.liveOf(shown.id)
  const used = work.usedOf(shown.id)
  const requests = used?.requests ?? 0
  return (
    <li className={classes.key} data-key={shown.id}>
      <div className={classes.head}>
        <span className={classes.name}>{shown.name}</span>
        <UpstreamKeyState shown={shown} live={live} />
        <span className={classes.gap} />
        <KeyMenu upstreamId={upstreamId} shown={shown} onDialog={onDialog} />
      </div>
      <dl className={classes.facts}>
        <div>
          <dt>{t('columns.slots')}</dt>
          <dd>
            <Slots used={live?.slots_used ?? 0} of={shown.max_concurrency} />
          </dd>
        </div>
        <div>
          <dt>{t('columns.requests')}</dt>
          <dd>
            <Count value={requests} />
          </dd>
        </div>
        <div>
          <dt>{t('columns.errors')}</dt>
          <dd>
            {used === null || requests === 0 ? (
              <Nothing why={t('noRequests')} />
            ) : (
              percent(used.errors / requests, locale)
            )}
          </dd>
        </div>
        <div>
          <dt>{t('columns.ttft')}</dt>
          <dd>
            {typeof used?.mean_ttft_ms === 'number' ? (
              <Duration ms={used.mean_ttft_ms} />
            ) : (
              <Nothing why={t('noRequests')} />
            )}
          </dd>
        </div>
      </dl>
      <Reason shown={shown} live={live} />
      <p className={classes.note}>
        <code>{shown.credential_masked}</code> · {t('weight', { weight: shown.weight })} ·{' '}
        {t('priority', { priority: shown.priority })}
        {used !== null && <Calls calls={used.calls} />}
      </p>
    </li>
  )
}

/** The reason why a key gets no requests, or few; nothing for one that works. */
function Reason({
  shown: { state, enabled },
  live,
}: {
  readonly shown: UpstreamKey
  readonly live: LiveKey | null
}): ReactNode {
  const t = useWords('upstreams')
  if (state === 'unreadable' || state === 'shadowed') return <p className={classes.reason}>{t(`about.${state}`)}</p>
  if (!enabled || live === null || live.state === 'ok') return null
  return <p className={classes.reason}>{t(`about.${live.state}`)}</p>
}

/** The outcomes of the key's calls since the gateway started. */
function Calls({ calls }: { readonly calls: Readonly<Record<string, number>> }): ReactNode {
  const locale = useLocale()
  return Object.entries(calls)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => (
      <span key={outcome}>
        {' · '}
        <code>{outcome}</code> {exact(count, locale)}
      </span>
    ))
}

function KeyMenu({ upstreamId, shown, onDialog }: Omit<KeyProps, 'work'>): ReactNode {
  const t = useWords('upstreams')
  const isStored = shown.source === 'stored'
  const set = (enabled: boolean, told: () => void): void => {
    changeUpstreamKey(upstreamId, shown.id, { enabled }).then(told, tellFailure)
  }
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t('actsOf', { name: shown.name })}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<Icon name="pulse" size={14} />}
          onClick={() => {
            onDialog({ kind: 'test', key: shown })
          }}
        >
          {t('test')}
        </Menu.Item>
        {isStored && (
          <>
            <Menu.Item
              leftSection={<Icon name="power" size={14} />}
              onClick={() => {
                set(!shown.enabled, () => {
                  toast('good', t(shown.enabled ? 'turnedOff' : 'turnedOn', { name: shown.name }), () => {
                    set(shown.enabled, () => undefined)
                  })
                })
              }}
            >
              {shown.enabled ? t('drain') : t('turnOn')}
            </Menu.Item>
            <Menu.Item
              leftSection={<Icon name="edit" size={14} />}
              onClick={() => {
                onDialog({ kind: 'edit', key: shown })
              }}
            >
              {t('changeKey')}
            </Menu.Item>
            <Menu.Item
              leftSection={<Icon name="trash" size={14} />}
              color="bad"
              onClick={() => {
                onDialog({ kind: 'delete', key: shown })
              }}
            >
              {t('delete')}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

interface DeleteKeyProps {
  readonly upstreamId: string
  readonly shown: UpstreamKey
  readonly work: Work
  readonly onClose: () => void
}

function DeleteKey({ upstreamId, shown, work, onClose }: DeleteKeyProps): ReactNode {
  const t = useWords('upstreams')
  const week = useRead('adminRelayStats', { query: { period: '7d' } })
  const locale = useLocale()
  const running = work.liveOf(shown.id)?.slots_used ?? 0
  const requests = week.data?.upstream_keys.find(
    (one) => one.provider_id === upstreamId && one.upstream_key_id === shown.id,
  )?.requests
  return (
    <Confirm
      title={t('deleteKeyTitle', { name: shown.name })}
      act={t('delete')}
      onClose={onClose}
      onConfirm={async () => {
        await deleteUpstreamKey(upstreamId, shown.id)
        toast('good', t('deleted', { name: shown.name }))
      }}
    >
      <p>{t('deleteKeyAbout')}</p>
      <p>
        <strong>
          {week.isPending
            ? t('counting')
            : t('loss', { requests: exact(requests ?? 0, locale), running: exact(running, locale) })}
        </strong>
      </p>
    </Confirm>
  )
}
