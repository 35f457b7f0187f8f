import { Button, Modal, SegmentedControl, Select, Tabs, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { Failed, FormError } from '../../parts/states.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { clientWith } from './ask.ts'
import { CODES, codeOf } from './code.ts'
import type { Code } from './code.ts'
import { KeyChoice, useMadeKey } from './key-choice.tsx'
import type { ChosenKey } from './key-choice.tsx'
import { Lane } from './lane.tsx'
import { DIALECTS, dialectOf, promptOf } from './prompt.ts'
import type { Dialect, Prompt, Turn } from './prompt.ts'
import { turnsOf, useLanes } from './use-lanes.ts'
import classes from './playground-page.module.css'

const MODELS_TIMEOUT_MS = 10_000
const MASK_END = 4

interface Settings {
  readonly system: string
  readonly maxTokens: string
  readonly temperature: string
}

const NO_SETTINGS: Settings = { system: '', maxTokens: '', temperature: '' }

export function PlaygroundPage({ scope }: PageProps): ReactNode {
  const url = useUrlState()
  const [key, setKey] = useState<ChosenKey | null>(null)
  useMadeKey(scope, key)
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

/** The last message of a logged request is there to be sent again. */
function begunBy(prompt: Logged['prompt']): {
  readonly settings: Settings
  readonly question: string
  readonly before: readonly Turn[]
} {
  if (prompt === null) return { settings: NO_SETTINGS, question: '', before: [] }
  const text = (value: number | null): string => (value === null ? '' : String(value))
  const { system, maxTokens, temperature, turns } = prompt
  const last = turns.at(-1)
  const isAsked = last?.role === 'user'
  return {
    settings: { system, maxTokens: text(maxTokens), temperature: text(temperature) },
    question: isAsked ? last.text : '',
    before: isAsked ? turns.slice(0, -1) : turns,
  }
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

interface Logged {
  readonly dialect: Dialect | null
  readonly model: string | null
  readonly prompt: ReturnType<typeof promptOf>
  /** The parts of the request that cannot be sent again. */
  readonly note: 'noBody' | 'partial' | 'otherEndpoint' | null
  readonly cause: unknown
}

/** A request of the log, to be sent again: with its content, where it was captured and the person may read it. */
function useLogged(scope: Scope, id: string | null): Logged {
  const found = useQuery({
    queryKey: ['playgroundRequest', scope.kind, scope.kind === 'enterprise' ? scope.id : '', id],
    enabled: id !== null,
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const wanted = id ?? ''
      if (scope.kind !== 'enterprise') {
        return call('getLog', { params: { id: wanted }, query: { bodies: true } }, { signal })
      }
      const params = { id: scope.id, logId: wanted }
      // Only owners may read bodies; the rest of the request is for others too.
      const bodies = scope.role === 'owner'
      return call('getEnterpriseLog', { params, ...(bodies ? { query: { bodies } } : {}) }, { signal })
    },
  })
  const { data } = found
  const dialect = dialectOf(data?.endpoint ?? null)
  const text = data?.bodies?.request?.text ?? null
  const prompt = useMemo(() => (text === null || dialect === null ? null : promptOf(dialect, text)), [text, dialect])
  const note =
    data === undefined
      ? null
      : dialect === null
        ? 'otherEndpoint'
        : prompt === null
          ? 'noBody'
          : prompt.isPartial
            ? 'partial'
            : null
  return { dialect, model: data?.model ?? null, prompt, note, cause: found.isError ? found.error : null }
}

interface ControlsProps {
  readonly models: readonly string[]
  readonly isReady: boolean
  readonly dialect: Dialect
  readonly first: string
  readonly second: string | null
  readonly settings: Settings
  readonly isMaxWrong: boolean
  readonly isTemperatureWrong: boolean
  readonly onSettings: (settings: Settings) => void
  readonly onUrl: ReturnType<typeof useUrlState>['set']
}

function Controls(props: ControlsProps): ReactNode {
  const { models, isReady, dialect, first, second, settings, onSettings, onUrl } = props
  const t = useWords('playground')
  const known = [...new Set([...models, ...[first, second ?? ''].filter((one) => one !== '')])]
  const choice = (label: string, value: string, onChange: (model: string) => void): ReactNode => (
    <Select
      label={label}
      value={value === '' ? null : value}
      data={known}
      searchable
      placeholder={isReady ? t('chooseModel') : t('keyFirst')}
      nothingFoundMessage={isReady ? t('noSuchModel') : t('keyFirst')}
      onChange={(model) => {
        if (model !== null) onChange(model)
      }}
    />
  )
  return (
    <div className={classes.controls}>
      <div>
        <span className={classes.label}>{t('dialect')}</span>
        <SegmentedControl
          aria-label={t('dialect')}
          value={dialect}
          data={DIALECTS.map((value) => ({ value, label: t(`dialects.${value}`) }))}
          onChange={(value) => {
            onUrl({ dialect: value })
          }}
        />
      </div>
      {choice(t('model'), first, (model) => {
        onUrl({ model })
      })}
      {second === null ? (
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            onUrl({ with: known.find((one) => one !== first) ?? first })
          }}
          disabled={first === ''}
          title={first === '' ? t('keyFirst') : undefined}
        >
          {t('compare')}
        </Button>
      ) : (
        <>
          {choice(t('secondModel'), second, (model) => {
            onUrl({ with: model })
          })}
          <Button
            variant="subtle"
            onClick={() => {
              onUrl({ with: null })
            }}
          >
            {t('compareNot')}
          </Button>
        </>
      )}
      <div className={classes.settings}>
        <TextInput
          label={t('maxTokens')}
          inputMode="numeric"
          placeholder={t('notSent')}
          value={settings.maxTokens}
          error={props.isMaxWrong ? t('numberWrong') : undefined}
          onChange={(event) => {
            onSettings({ ...settings, maxTokens: event.currentTarget.value })
          }}
        />
        <TextInput
          label={t('temperature')}
          inputMode="decimal"
          placeholder={t('notSent')}
          value={settings.temperature}
          error={props.isTemperatureWrong ? t('numberWrong') : undefined}
          onChange={(event) => {
            onSettings({ ...settings, temperature: event.currentTarget.value })
          }}
        />
        <Textarea
          label={t('system')}
          className={classes.system ?? ''}
          rows={2}
          placeholder={t('notSent')}
          value={settings.system}
          onChange={(event) => {
            onSettings({ ...settings, system: event.currentTarget.value })
          }}
        />
      </div>
    </div>
  )
}

/** Null: nothing was typed. Undefined: it is no number. */
function numberOf(text: string): number | null | undefined {
  if (text.trim() === '') return null
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

function AsCode({ prompt, onClose }: { readonly prompt: Prompt; readonly onClose: () => void }): ReactNode {
  const t = useWords('playground')
  const common = useWords('common')
  const [code, setCode] = useState<Code>('curl')
  return (
    <Modal opened onClose={onClose} title={t('asCode')} size={640} closeButtonProps={{ 'aria-label': common('close') }}>
      <Tabs
        value={code}
        onChange={(value) => {
          setCode(CODES.find((one) => one === value) ?? 'curl')
        }}
      >
        <Tabs.List aria-label={t('asCode')}>
          {CODES.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`codes.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <CodeBlock text={codeOf(code, prompt, location.origin)} label={t(`codes.${code}`)} />
      <p className="muted note">{t('codeAbout')}</p>
    </Modal>
  )
}
