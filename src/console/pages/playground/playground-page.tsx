import { Button, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { Failed, FormError } from '../../parts/states.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { AsCode } from './as-code.tsx'
import { clientWith } from './ask.ts'
import { Controls, numberOf } from './controls.tsx'
import { KeyChoice, useMadeKey } from './key-choice.tsx'
import type { ChosenKey } from './key-choice.tsx'
import { Lane } from './lane.tsx'
import { begunBy, useLogged } from './logged.ts'
import type { Logged } from './logged.ts'
import { dialectOf } from './prompt.ts'
import type { Prompt } from './prompt.ts'
import { turnsOf, useLanes } from './use-lanes.ts'
import classes from './playground-page.module.css'

const MODELS_TIMEOUT_MS = 10_000
const MASK_END = 4

export function PlaygroundPage({ scope }: PageProps): ReactNode {
  const url = useUrlState()
  const [key, setKey] = useState<ChosenKey | null>(null)
  useMadeKey(scope, key, () => {
    setKey(null)
  })
  const id = url.query.get('request')
  const logged = useLogged(scope, id)
  // A request that was read begins a conversation of its own.
  return (
    <Playground key={logged.prompt === null ? '' : id} scope={scope} chosen={key} onChoose={setKey} logged={logged} />
  )
}

interface PlaygroundProps {
  readonly scope: Scope
  readonly chosen: ChosenKey | null
  readonly onChoose: (key: ChosenKey | null) => void
  readonly logged: Logged
}

function Playground({ scope, chosen: key, onChoose: setKey, logged }: PlaygroundProps): ReactNode {
  const t = useWords('playground')
  const url = useUrlState()
  const begun = begunBy(logged.prompt)
  const [settings, setSettings] = useState(begun.settings)
  const [question, setQuestion] = useState(begun.question)
  const talk = useLanes(begun.before)
  const [isCodeShown, setIsCodeShown] = useState(false)
  const models = useModels(key)
  const dialect = dialectOf(url.query.get('dialect')) ?? logged.dialect ?? 'chat.completions'
  const first = url.query.get('model') ?? logged.model ?? models.data?.[0] ?? ''
  const second = url.query.get('with')
  const chosen = [first, ...(second === null ? [] : [second])].filter((model) => model !== '')
  const [maxTokens, temperature] = [numberOf(settings.maxTokens), numberOf(settings.temperature)]
  const isWrong = maxTokens === undefined || temperature === undefined
  const prompts = chosen.map((model) => ({
    dialect,
    model,
    system: settings.system.trim(),
    maxTokens: maxTokens ?? null,
    temperature: temperature ?? null,
  }))
  const canSend = key !== null && prompts.length > 0 && question.trim() !== '' && !talk.isRunning && !isWrong
  const send = (): void => {
    if (!canSend) return
    talk.send(key.secret, question.trim(), prompts)
    setQuestion('')
  }
  const shown: Prompt | null =
    prompts[0] === undefined
      ? null
      : { ...prompts[0], turns: [...turnsOf(talk.lanes[0]), { role: 'user', text: question.trim() }] }
  return (
    <Page
      title={t('title')}
      about={t('about')}
      acts={
        <>
          <Button
            variant="default"
            disabled={talk.lanes.every(({ before, exchanges }) => before.length + exchanges.length === 0)}
            title={t('clearAbout')}
            onClick={() => {
              talk.reset()
            }}
          >
            {t('clear')}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="copy" size={14} />}
            disabled={shown === null}
            title={shown === null ? t('noModel') : undefined}
            onClick={() => {
              setIsCodeShown(true)
            }}
          >
            {t('asCode')}
          </Button>
        </>
      }
    >
      {logged.note !== null && (
        <p className={classes.note} role="status">
          <Icon name="alert" />
          {t(`logged.${logged.note}`)}
        </p>
      )}
      {logged.cause !== null && <FormError cause={logged.cause} />}
      {key === null ? (
        <KeyChoice onChoose={setKey} />
      ) : (
        <div className={classes.keyBar}>
          <Badge tone="accent" icon="key">
            <span data-testid="playground-key">…{key.secret.slice(-MASK_END)}</span>
          </Badge>
          <span className="muted note">{key.madeId === null ? t('keyPasted') : t('keyMade')}</span>
          <Button
            variant="subtle"
            size="xs"
            onClick={() => {
              talk.stop()
              setKey(null)
            }}
          >
            {t('forgetKey')}
          </Button>
        </div>
      )}
      {key !== null && models.isError && (
        <Failed
          cause={models.error}
          retry={() => {
            void models.refetch()
          }}
        />
      )}
      <Controls
        models={models.data ?? chosen}
        isReady={key !== null}
        dialect={dialect}
        first={first}
        second={second}
        settings={settings}
        isMaxWrong={maxTokens === undefined}
        isTemperatureWrong={temperature === undefined}
        onSettings={setSettings}
        onUrl={url.set}
      />
      <div className={classes.lanes} data-two={second !== null || undefined}>
        <Lane scope={scope} lane={talk.lanes[0]} model={first === '' ? t('noModel') : first} />
        {second !== null && <Lane scope={scope} lane={talk.lanes[1]} model={second === '' ? t('noModel') : second} />}
      </div>
      <form
        className={classes.composer}
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          send()
        }}
      >
        <Textarea
          aria-label={t('question')}
          placeholder={t('questionPlaceholder')}
          rows={3}
          value={question}
          onChange={(event) => {
            setQuestion(event.currentTarget.value)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault()
              send()
            }
          }}
        />
        {/* Two buttons, not one that changes under a click. */}
        {talk.isRunning ? (
          <Button key="stop" variant="default" leftSection={<Icon name="stop" size={14} />} onClick={talk.stop}>
            {t('stop')}
          </Button>
        ) : (
          <Button
            key="send"
            type="submit"
            disabled={!canSend}
            title={key === null ? t('keyFirst') : t('sendHint')}
            leftSection={<Icon name="play" size={14} />}
          >
            {t('send')}
          </Button>
        )}
      </form>
      {isCodeShown && shown !== null && (
        <AsCode
          prompt={shown}
          onClose={() => {
            setIsCodeShown(false)
          }}
        />
      )}
    </Page>
  )
}

/** The models that the key may use, asked with the key itself. It is in no name of a query: those are kept. */
function useModels(key: ChosenKey | null) {
  return useQuery({
    queryKey: ['playgroundModels', key?.madeId ?? null, key?.secret.slice(-MASK_END) ?? null],
    enabled: key !== null,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const client = clientWith(key?.secret ?? '')
      const { data } = await client.models.list({ signal, timeoutMs: MODELS_TIMEOUT_MS, maxRetries: 1 })
      return data.map(({ id }) => id)
    },
  })
}
