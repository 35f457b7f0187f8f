import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { SluiceClient } from '../../../client/index.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icons.tsx'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { useTopModels } from '../../parts/top-models.ts'
import { EXAMPLES, exampleOf } from './examples.ts'
import classes from './key-form.module.css'

interface ShownOnceProps {
  readonly scope: Scope
  /** The key itself: it is in the memory of this component alone. */
  readonly secret: string
  readonly models: readonly string[] | null
}

/** A new key, with ways to use it at once. */
export function ShownOnce({ scope, secret, models }: ShownOnceProps): ReactNode {
  const t = useWords('keys')
  const [example, setExample] = useState<(typeof EXAMPLES)[number]>('curl')
  const model = useFirstModel(scope, secret, models)
  const filled = exampleOf(example, { origin: location.origin, key: secret, model })
  return (
    <>
      <p className={classes.warning}>
        <Icon name="alert" />
        {t('once')}
      </p>
      <div className={classes.keyRow}>
        <code className={classes.key} data-testid="new-key">
          {secret}
        </code>
        <CopyButton text={secret} label={t('copyKey')} variant="filled" />
      </div>
      <Tabs
        value={example}
        onChange={(value) => {
          setExample(value as (typeof EXAMPLES)[number])
        }}
      >
        <Tabs.List aria-label={t('examples')} className={classes.tabs ?? ''}>
          {EXAMPLES.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`example.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <CodeBlock text={filled} label={t(`example.${example}`)} />
    </>
  )
}

const FALLBACK = 'sim-gpt'

/**
 * A model that this key may use, so that the example works: of those that it is limited to, or the one of most chats. Only without both the key
 * itself is asked with, because that is a request in its log.
 */
function useFirstModel(scope: Scope, secret: string, models: readonly string[] | null): string {
  const allowed = models?.[0]
  const used = useTopModels(scope, 'chats', allowed === undefined)
  const asked = useQuery({
    queryKey: ['modelsOfKey', secret],
    gcTime: 0,
    enabled: allowed === undefined && used?.length === 0,
    queryFn: async ({ signal }) => {
      const client = new SluiceClient({ baseUrl: location.origin, apiKey: secret, maxRetries: 1, timeoutMs: 5_000 })
      return (await client.models.list({ signal })).data
    },
  })
  return allowed ?? used?.[0] ?? asked.data?.[0]?.id ?? FALLBACK
}
