import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { exact } from '../../format/numbers.ts'
import { Grid } from '../../parts/grid.tsx'
import { Money, Nothing, useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import type { Prices } from './model-calls.ts'
import type { Kind } from './price-draft.ts'

/** The price of a million tokens. Null is not known, which is not 0. */
export function Price({ prices, kind }: { readonly prices: Prices | null; readonly kind: Kind }): ReactNode {
  const t = useWords('models')
  return prices === null ? <Nothing why={t('unknownPrice')} /> : <Money micro={prices[kind]} />
}

export function PriceSource({
  prices,
  source,
}: {
  readonly prices: Prices | null
  readonly source: string | null
}): ReactNode {
  const t = useWords('models')
  if (prices === null || source === null) {
    return (
      <Badge tone="warn" icon="help" title={t('unknownPrice')}>
        {t('sources.unknown')}
      </Badge>
    )
  }
  const known = (['file', 'stored', 'built-in'] as const).find((one) => one === source) ?? 'built-in'
  return (
    <span className="muted" title={t(`sourcesAbout.${known}`)}>
      {t(`sources.${known}`)}
    </span>
  )
}

/** All prices of a model, one row for each length of prompts. */
export function PriceTiers({ prices, label }: { readonly prices: Prices; readonly label: string }): ReactNode {
  const t = useWords('models')
  const locale = useLocale()
  const { long_prompts: long, ...base } = prices
  const rows = [{ ...base, above_tokens: null }, ...long]
  return (
    <Grid
      label={label}
      rows={rows}
      idOf={({ above_tokens: above }) => String(above ?? 0)}
      columns={[
        {
          head: t('prompt'),
          cell: ({ above_tokens: above }) =>
            above === null ? t('everyPrompt') : t('aboveTokens', { tokens: exact(above, locale) }),
        },
        ...(['input', 'output', 'cached_input', 'cache_write'] as const).map((kind) => ({
          head: t(`prices.${kind}`),
          isNumber: true,
          cell: (row: (typeof rows)[number]) => <Money micro={row[kind]} />,
        })),
      ]}
    />
  )
}
