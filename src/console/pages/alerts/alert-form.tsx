import { ActionIcon, Button, MultiSelect, Select, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../../parts/icons.tsx'
import { useZone } from '../../shell/zone.tsx'
import { useWords } from '../../words/index.ts'
import { hasMinimum, hasThreshold, isWebhook, kindOf, KINDS, OWNERS } from './alert-draft.ts'
import type { AlertDraft, DraftErrors } from './alert-draft.ts'
import classes from '../../parts/form.module.css'

const MAX_RECEIVERS = 10

interface AlertFieldsProps {
  readonly draft: AlertDraft
  readonly errors: DraftErrors
  /** The gateway's own words about a field. */
  readonly toldOf: (field: string) => string | undefined
  readonly onChange: (change: Partial<AlertDraft>) => void
  /** The kind of an alert stays what it is. */
  readonly isNew: boolean
}

export function AlertFields({ draft, errors, toldOf, onChange, isNew }: AlertFieldsProps): ReactNode {
  const t = useWords('alerts')
  const { scopeZone } = useZone()
  const { kind } = draft
  const errorOf = (field: 'name' | 'threshold' | 'min_requests' | 'owners'): string | undefined => {
    const error = field === 'threshold' || field === 'min_requests' ? errors[field] : undefined
    if (error !== undefined) return t(`errors.${error}`)
    return toldOf(field)
  }
  const setReceiver = (at: number, address: string): void => {
    onChange({ receivers: draft.receivers.map((one, index) => (index === at ? { ...one, address } : one)) })
  }
  return (
    <>
      {isNew && (
        <Select
          label={t('kind')}
          data-autofocus
          description={t(`kinds.${kind}.about`)}
          value={kind}
          data={KINDS.map((value) => ({ value, label: t(`kinds.${value}.name`) }))}
          renderOption={({ option }) => (
            <span>
              <span style={{ display: 'block', fontWeight: 500 }}>{option.label}</span>
              <span className="muted note">{t(`kinds.${option.value}.about`)}</span>
            </span>
          )}
          onChange={(value) => {
            if (value !== null) onChange({ kind: kindOf(value), threshold: '', owners: [], min_requests: '' })
          }}
        />
      )}
      <TextInput
        label={t('name')}
        description={t('nameHint')}
        value={draft.name}
        maxLength={100}
        autoComplete="off"
        error={errorOf('name')}
        onChange={(event) => {
          onChange({ name: event.currentTarget.value })
        }}
      />
      {hasThreshold(kind) && (
        <TextInput
          label={t(`kinds.${kind}.threshold`)}
          description={t(`kinds.${kind}.usual`)}
          value={draft.threshold}
          inputMode="decimal"
          autoComplete="off"
          error={errorOf('threshold')}
          onChange={(event) => {
            onChange({ threshold: event.currentTarget.value })
          }}
        />
      )}
      {kind === 'budget' && (
        <MultiSelect
          label={t('owners')}
          description={t('ownersHint')}
          value={[...draft.owners]}
          data={OWNERS.map((value) => ({ value, label: t(`ownerNames.${value}`) }))}
          error={errorOf('owners')}
          onChange={(owners) => {
            onChange({ owners })
          }}
        />
      )}
      {hasMinimum(kind) && (
        <TextInput
          label={t('minRequests')}
          description={t('minRequestsHint')}
          value={draft.min_requests}
          inputMode="numeric"
          autoComplete="off"
          error={errorOf('min_requests')}
          onChange={(event) => {
            onChange({ min_requests: event.currentTarget.value })
          }}
        />
      )}
      <div className={classes.group} role="group" aria-label={t('receivers')}>
        <strong>{t('receivers')}</strong>
        {draft.receivers.map((receiver, at) => (
          <div key={receiver.id ?? `new ${at}`} style={{ display: 'flex', alignItems: 'flex-end', gap: 8 }}>
            <TextInput
              style={{ flex: 1 }}
              label={t('receiver', { number: at + 1 })}
              placeholder={t('receiverHint')}
              value={receiver.address}
              autoComplete="off"
              spellCheck={false}
              rightSection={
                receiver.address.trim() === '' ? undefined : (
                  <span
                    className="muted"
                    title={isWebhook(receiver.address) ? t('webhook') : t('mail')}
                    style={{ display: 'flex' }}
                  >
                    <Icon name={isWebhook(receiver.address) ? 'link' : 'person'} size={14} />
                  </span>
                )
              }
              onChange={(event) => {
                setReceiver(at, event.currentTarget.value)
              }}
            />
            {draft.receivers.length > 1 && (
              <ActionIcon
                size={36}
                aria-label={t('removeReceiver', { number: at + 1 })}
                onClick={() => {
                  onChange({ receivers: draft.receivers.filter((_, index) => index !== at) })
                }}
              >
                <Icon name="trash" size={14} />
              </ActionIcon>
            )}
          </div>
        ))}
        {(errors.receivers !== undefined || toldOf('channels') !== undefined) && (
          <span role="alert" style={{ color: 'var(--c-bad)', fontSize: 12 }}>
            {errors.receivers === undefined ? toldOf('channels') : t('errors.none')}
          </span>
        )}
        {draft.receivers.length < MAX_RECEIVERS && (
          <div>
            <Button
              variant="default"
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => {
                onChange({ receivers: [...draft.receivers, { id: null, address: '' }] })
              }}
            >
              {t('addReceiver')}
            </Button>
          </div>
        )}
        <span className="muted note">{t('receiversHint')}</span>
      </div>
      <Switch
        label={t('quiet')}
        description={t('quietHint', { zone: scopeZone ?? 'UTC' })}
        checked={draft.isQuiet}
        onChange={(event) => {
          onChange({ isQuiet: event.currentTarget.checked })
        }}
      />
      {draft.isQuiet && (
        <div className={classes.pair}>
          <TextInput
            type="time"
            label={t('quietFrom')}
            value={draft.quietFrom}
            onChange={(event) => {
              onChange({ quietFrom: event.currentTarget.value })
            }}
          />
          <TextInput
            type="time"
            label={t('quietTo')}
            value={draft.quietTo}
            error={errors.quiet === undefined ? toldOf('quiet') : t('errors.same')}
            onChange={(event) => {
              onChange({ quietTo: event.currentTarget.value })
            }}
          />
        </div>
      )}
    </>
  )
}
