import { Button, Popover, Select, TextInput, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { useSearchText } from '../../parts/search-text.ts'
import { useTopModels } from '../../parts/top-models.ts'
import { mayIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { useKeyDetail } from '../keys/key-calls.ts'
import type { AnyKey } from '../keys/key-calls.ts'
import { ERROR_TYPES } from './columns.tsx'
import { FILTER_NAMES, isFiltered } from './filter.ts'
import type { FilterName, LogFilter } from './filter.ts'
import classes from './requests-page.module.css'

const STATUSES = ['200', '400', '401', '403', '404', '429', '499', '500', '503', '0']
const ENDPOINTS = [
  'chat.completions',
  'messages',
  'responses',
  'messages.count_tokens',
  'embeddings',
  'rerank',
  'images.generations',
  'video.generations',
]
const MAX_KEYS = 100

interface FilterBarProps {
  readonly scope: Scope
  readonly filter: LogFilter
  readonly onSet: (name: FilterName, values: readonly string[]) => void
  readonly onClear: () => void
}

/** The filters that hold, as chips. All of them are in the URL. */
export function FilterBar({ scope, filter, onSet, onClear }: FilterBarProps): ReactNode {
  const t = useWords('requests')
  const common = useWords('common')
  const shown = FILTER_NAMES.flatMap((name) => (filter.values[name] ?? []).map((value) => ({ name, value })))
  const wordOf = (name: FilterName, value: string): ReactNode => {
    if (name === 'key' && mayReadKeys(scope)) return <KeyLabel scope={scope} id={value} />
    if (name === 'error') return errorType(value, t)
    return name === 'status' && value === '0' ? t('statuses.interrupted') : value
  }
  if (!isFiltered(filter)) return null
  return (
    <div className={classes.chips}>
      {shown.map(({ name, value }) => (
        <span key={`${name} ${value}`} className={classes.chip}>
          <span className="muted">{t(`filters.${name}`)}</span>
          <span className={classes.chipValue}>{wordOf(name, value)}</span>
          <UnstyledButton
            className={classes.chipClose ?? ''}
            aria-label={t('removeFilter', { name: t(`filters.${name}`) })}
            onClick={() => {
              onSet(
                name,
                (filter.values[name] ?? []).filter((one) => one !== value),
              )
            }}
          >
            <Icon name="cross" size={12} />
          </UnstyledButton>
        </span>
      ))}
      <Button variant="subtle" size="xs" onClick={onClear}>
        {common('clearFilters')}
      </Button>
    </div>
  )
}

function errorType(value: string, t: ReturnType<typeof useWords<'requests'>>): string {
  const known = ERROR_TYPES.find((one) => one === value)
  return known === undefined ? value : t(`errorTypes.${known}`)
}

/** The filters of a scope that are chosen here; the others come from links. */
function offered(scope: Scope): readonly FilterName[] {
  const common = ['status', 'error', 'model', 'key', 'endpoint', 'agent', 'tag', 'trace'] as const
  if (scope.kind === 'platform')
    return [...common.filter((name) => name !== 'key'), 'enterprise', 'provider', 'upstream']
  return scope.kind === 'enterprise' ? [...common, 'member', 'department'] : common
}

/** Adds a filter: what to filter by, then its value. */
export function AddFilter({
  scope,
  filter,
  onSet,
  among,
}: Omit<FilterBarProps, 'onClear'> & {
  /** The filters that the page knows; all by default. */
  readonly among?: ReadonlySet<FilterName>
}): ReactNode {
  const t = useWords('requests')
  const [isOpen, setIsOpen] = useState(false)
  const [name, setName] = useState<FilterName>('status')
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" width={280} trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<Icon name="filter" size={14} />}
          onClick={() => {
            setIsOpen(!isOpen)
          }}
        >
          {t('addFilter')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('addFilter')}>
        <div className={classes.filterForm}>
          <Select
            label={t('filterBy')}
            value={name}
            data={offered(scope)
              .filter((one) => among?.has(one) !== false)
              .map((value) => ({ value, label: t(`filters.${value}`) }))}
            comboboxProps={{ withinPortal: false, shadow: 'md' }}
            onChange={(value) => {
              setName(value ?? 'status')
            }}
          />
          <FilterValue
            key={name}
            scope={scope}
            name={name}
            onDone={(value) => {
              // Tags add up; of the others one holds.
              onSet(name, name === 'tag' ? [...(filter.values.tag ?? []), value] : [value])
              setIsOpen(false)
            }}
          />
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}

interface FilterValueProps {
  readonly scope: Scope
  readonly name: FilterName
  readonly onDone: (value: string) => void
}

function FilterValue({ scope, name, onDone }: FilterValueProps): ReactNode {
  const t = useWords('requests')
  const models = useTopModels(scope, 'log', name === 'model') ?? []
  const [typed, setTyped] = useState('')
  const keys = useKeyChoices(scope, typed, name === 'key')
  const choices: Partial<Record<FilterName, ReadonlyArray<{ readonly value: string; readonly label: string }>>> = {
    status: STATUSES.map((value) => ({ value, label: value === '0' ? t('statuses.interrupted') : value })),
    error: ERROR_TYPES.map((value) => ({ value, label: t(`errorTypes.${value}`) })),
    endpoint: ENDPOINTS.map((value) => ({ value, label: value })),
    key: keys,
    ...(models.length > 0 ? { model: models.map((value) => ({ value, label: value })) } : {}),
  }
  const list = choices[name]
  if (list !== undefined) {
    return (
      <Select
        label={t('filterValue')}
        placeholder={t('choose')}
        searchable
        value={null}
        data={[...list]}
        comboboxProps={{ withinPortal: false, shadow: 'md' }}
        onSearchChange={setTyped}
        onChange={(value) => {
          if (value !== null) onDone(value)
        }}
      />
    )
  }
  return <FilterText name={name} onDone={onDone} />
}

const MIN_AGENT = 2

function FilterText({ name, onDone }: Omit<FilterValueProps, 'scope'>): ReactNode {
  const t = useWords('requests')
  const [text, setText] = useState('')
  const [isTold, setIsTold] = useState(false)
  const value = text.trim()
  const isRight =
    name === 'tag' ? /^[^:]{1,64}:.{1,64}$/.test(value) : value.length >= (name === 'agent' ? MIN_AGENT : 1)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isRight) onDone(value)
    else setIsTold(true)
  }
  return (
    <form onSubmit={submit} className={classes.filterForm}>
      <TextInput
        label={t('filterValue')}
        description={name === 'tag' ? t('tagHint') : name === 'agent' ? t('agentHint') : undefined}
        value={text}
        error={isTold && !isRight ? t(name === 'tag' ? 'tagWrong' : 'textWrong') : undefined}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setText(event.currentTarget.value)
        }}
      />
      <Button type="submit">{t('apply')}</Button>
    </form>
  )
}

function labelOf({ name, key_masked: masked }: Pick<AnyKey, 'name' | 'key_masked'>): string {
  return `${name} (${masked})`
}

/** The keys that have what is typed in their name or masked form. */
function useKeyChoices(
  scope: Scope,
  typed: string,
  isEnabled: boolean,
): ReadonlyArray<{ readonly value: string; readonly label: string }> {
  const query = { limit: MAX_KEYS, ...useSearchText(typed, 1) }
  const isAsked = isEnabled && mayReadKeys(scope)
  const own = useRead('listKeys', { query }, { isEnabled: isAsked && scope.kind === 'own', keepsOld: true })
  const enterprise = useRead(
    'listEnterpriseKeys',
    { params: { id: scope.kind === 'enterprise' ? scope.id : '' }, query },
    { isEnabled: isAsked && scope.kind === 'enterprise', keepsOld: true },
  )
  const list: readonly AnyKey[] = (scope.kind === 'enterprise' ? enterprise.data?.data : own.data?.data) ?? []
  return list.map((key) => ({ value: key.id, label: labelOf(key) }))
}

function KeyLabel({ scope, id }: { readonly scope: Scope; readonly id: string }): ReactNode {
  const key = useKeyDetail(scope, id).data?.data
  return key === undefined ? id : labelOf(key)
}

function mayReadKeys(scope: Scope): boolean {
  return scope.kind === 'own' || (scope.kind === 'enterprise' && mayIn(scope, 'keys.read'))
}
