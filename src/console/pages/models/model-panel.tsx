import { Button, TagsInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useDetail } from '../../api/queries.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Facts, Section } from '../../parts/facts.tsx'
import { EditForm } from '../../parts/form-dialog.tsx'
import { Grid } from '../../parts/grid.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failed } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { Count, Nothing } from '../../parts/values.tsx'
import { pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { changeModel, forgetModel } from './model-calls.ts'
import type { Model } from './model-calls.ts'
import { priceDraftOf, pricesOf } from './price-draft.ts'
import type { PriceDraft } from './price-draft.ts'
import { PriceFields } from './price-fields.tsx'
import { Price, PriceSource, PriceTiers } from './price.tsx'
import layout from '../../parts/layout.module.css'

interface ModelPanelProps {
  readonly scope: Scope
  readonly id: string
  readonly onClose: () => void
}

export function ModelPanel({ scope, id, onClose }: ModelPanelProps): ReactNode {
  const t = useWords('models')
  const detail = useDetail('adminGetModel', { params: { id } })
  const shown = detail.data?.data
  return (
    <Panel title={id} label={t('model')} onClose={onClose} width={600}>
      {shown !== undefined && (
        <Detail key={id} scope={scope} shown={shown} etag={detail.data?.etag ?? null} onClose={onClose} />
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
  readonly shown: Model
  readonly etag: string | null
  readonly onClose: () => void
}

function Detail({ scope, shown, etag, onClose }: DetailProps): ReactNode {
  const t = useWords('models')
  const [isForgetting, setIsForgetting] = useState(false)
  const known = (value: boolean | null): ReactNode =>
    value === null ? <Nothing why={t('unknownFact')} /> : t(value ? 'yes' : 'no')
  const count = (value: number | null): ReactNode =>
    value === null ? <Nothing why={t('unknownFact')} /> : <Count value={value} />
  return (
    <>
      {[...(shown.problem === null ? [] : [shown.problem]), ...shown.warnings].map((text) => (
        <p key={text} className={layout.warning}>
          <Icon name="alert" />
          {text}
        </p>
      ))}
      <Facts
        rows={[
          ...(shown.alias_of === null
            ? []
            : ([
                [
                  t('aliasName'),
                  <Link key="alias" href={`${pathIn(scope, '/models')}/${encodeURIComponent(shown.alias_of)}`}>
                    {shown.alias_of}
                  </Link>,
                ],
              ] as const)),
          [t('columns.source'), t(`sourcesAbout.${shown.source}`)],
          [t('ownedBy'), shown.owned_by ?? <Nothing key="owner" why={t('unserved')} />],
          [t('context'), count(shown.context_tokens)],
          [t('maxOutput'), count(shown.max_output_tokens)],
          [t('images'), known(shown.images)],
          [t('tools'), known(shown.tools)],
        ]}
      />
      <Section title={t('pricesTitle')}>
        <p className={layout.note}>
          {t('perMillion')} {t('priceSource')} <PriceSource prices={shown.prices} source={shown.prices_source} />
        </p>
        {shown.prices === null ? (
          <p className={layout.warning}>
            <Icon name="alert" />
            {t('unknownAbout')}
          </p>
        ) : (
          <PriceTiers prices={shown.prices} label={t('pricesTitle')} />
        )}
      </Section>
      <Section title={t('columns.servedBy')}>
        {shown.deployments.length === 0 ? (
          <p className="muted">{t('unserved')}</p>
        ) : (
          <Grid
            label={t('columns.servedBy')}
            rows={shown.deployments}
            idOf={({ upstream, upstream_model: model }) => `${upstream} ${model}`}
            columns={[
              {
                head: t('upstream'),
                cell: ({ upstream }) => (
                  <Link href={`${pathIn(scope, '/upstreams')}/${encodeURIComponent(upstream)}`}>{upstream}</Link>
                ),
              },
              { head: t('servedAs'), cell: ({ upstream_model: model }) => <code>{model}</code> },
              { head: t('weight'), isNumber: true, cell: ({ weight }) => weight },
              { head: t('priority'), isNumber: true, cell: ({ priority }) => priority },
              { head: t('prices.input'), isNumber: true, cell: ({ prices }) => <Price prices={prices} kind="input" /> },
              {
                head: t('prices.output'),
                isNumber: true,
                cell: ({ prices }) => <Price prices={prices} kind="output" />,
              },
            ]}
          />
        )}
      </Section>
      <Section title={t('settings')}>
        {shown.alias_of === null ? (
          <ModelSettings shown={shown} etag={etag} />
        ) : (
          <p className={layout.note}>{t('aliasSettings')}</p>
        )}
      </Section>
      {shown.settings !== null && (
        <div className={layout.acts}>
          <Button
            variant="default"
            leftSection={<Icon name="undo" size={14} />}
            onClick={() => {
              setIsForgetting(true)
            }}
          >
            {t('forget')}
          </Button>
        </div>
      )}
      {isForgetting && (
        <Confirm
          title={t('forgetTitle', { id: shown.id })}
          act={t('forget')}
          onClose={() => {
            setIsForgetting(false)
          }}
          onConfirm={async () => {
            await forgetModel(shown.id)
            toast('good', t('forgotten', { id: shown.id }))
            if (shown.deployments.length === 0) onClose()
          }}
        >
          <p>{t('forgetAbout')}</p>
        </Confirm>
      )}
    </>
  )
}

/** Prices and aliases that management sets; they override the file and the catalogue. */
function ModelSettings({ shown, etag }: Pick<DetailProps, 'shown' | 'etag'>): ReactNode {
  const t = useWords('models')
  const [prices, setPrices] = useState<PriceDraft | null>(null)
  const [aliases, setAliases] = useState<readonly string[] | null>(null)
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(['prices', 'aliases'])
  const discard = (): void => {
    setPrices(null)
    setAliases(null)
    setIsChecked(false)
  }
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    const set = prices === null ? null : pricesOf(prices)
    if (prices !== null && set === null) return
    const body = {
      ...(set === null ? {} : { prices: set }),
      ...(aliases === null ? {} : { aliases: aliases.length === 0 ? null : [...aliases] }),
    }
    if (!(await submission.run(() => changeModel(shown.id, body, etag)))) return
    discard()
    toast('good', t('changed', { id: shown.id }))
  }
  return (
    <EditForm
      submission={submission}
      isEdited={prices !== null || aliases !== null}
      onDiscard={discard}
      onSubmit={() => {
        void submit()
      }}
    >
      <PriceFields
        draft={prices ?? priceDraftOf(shown.prices)}
        isChecked={isChecked}
        told={submission.toldOf('prices')}
        onChange={setPrices}
      />
      <TagsInput
        label={t('aliases')}
        description={t('aliasesHint')}
        value={[...(aliases ?? shown.aliases)]}
        error={submission.toldOf('aliases')}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        onChange={setAliases}
      />
    </EditForm>
  )
}
