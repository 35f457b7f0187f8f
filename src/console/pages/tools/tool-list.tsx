import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { Icon } from '../../parts/icons.tsx'
import { Pager } from '../../parts/pager.tsx'
import { Failed, FormError } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { lineDiff } from './line-diff.ts'
import { ToolState } from './server-state.tsx'
import { allowTool, denyTool } from './tool-calls.ts'
import type { Definition, ServerTool } from './tool-calls.ts'
import { TryTool } from './try-tool.tsx'
import classes from './tool-list.module.css'

const LIMIT = 50

/** The tools of a server: those to decide about first, each with what has changed since it was allowed. */
export function ToolList({ serverId }: { readonly serverId: string }): ReactNode {
  const t = useWords('tools')
  const [page, setPage] = useState(1)
  const list = useRead(
    'adminListServerTools',
    { params: { id: serverId }, query: { limit: LIMIT, page } },
    { keepsOld: true },
  )
  if (list.data === undefined) {
    return list.isError ? (
      <Failed
        cause={list.error}
        retry={() => {
          void list.refetch()
        }}
      />
    ) : null
  }
  const rows = list.data.data.toSorted((a, b) => ORDER[a.state] - ORDER[b.state])
  if (rows.length === 0) return <p className="muted">{t('noTools')}</p>
  return (
    <>
      <ul className={classes.tools} aria-label={t('tools')}>
        {rows.map((tool) => (
          <Tool key={tool.server_tool} serverId={serverId} tool={tool} />
        ))}
      </ul>
      {list.data.total > LIMIT && <Pager page={page} limit={LIMIT} total={list.data.total} onPage={setPage} />}
    </>
  )
}

const ORDER = { held: 0, waiting: 1, allowed: 2, gone: 3 } as const

function Tool({ serverId, tool }: { readonly serverId: string; readonly tool: ServerTool }): ReactNode {
  const t = useWords('tools')
  const [isOpen, setIsOpen] = useState(tool.state === 'held')
  const [isTrying, setIsTrying] = useState(false)
  const submission = useSubmission()
  const { digest, state, allowed, newest } = tool
  const shown = newest ?? allowed
  const isDecided = async (act: () => Promise<void>, told: string): Promise<void> => {
    if (await submission.run(act)) toast('good', told)
  }
  return (
    <li className={classes.tool} data-tool={tool.server_tool}>
      <div className={classes.head}>
        <code className={classes.name}>{tool.server_tool}</code>
        <ToolState state={state} />
        <span className={classes.gap} />
        {digest !== null && state !== 'allowed' && state !== 'gone' && (
          <Button
            size="xs"
            variant="default"
            loading={submission.isBusy}
            aria-label={t('allowOf', { tool: tool.server_tool })}
            onClick={() => {
              void isDecided(
                () => allowTool(serverId, tool.server_tool, digest),
                t('allowed', { tool: tool.server_tool }),
              )
            }}
          >
            {t('allow')}
          </Button>
        )}
        {state === 'allowed' && tool.name !== null && (
          <Button
            size="xs"
            variant="default"
            aria-label={t('tryOf', { tool: tool.server_tool })}
            onClick={() => {
              setIsTrying(true)
            }}
          >
            {t('try')}
          </Button>
        )}
        {(state === 'allowed' || state === 'held') && (
          <Button
            size="xs"
            variant="default"
            loading={submission.isBusy}
            aria-label={t('denyOf', { tool: tool.server_tool })}
            onClick={() => {
              void isDecided(() => denyTool(serverId, tool.server_tool), t('denied', { tool: tool.server_tool }))
            }}
          >
            {t('deny')}
          </Button>
        )}
      </div>
      <p className={classes.description}>{shown?.description ?? ''}</p>
      <FormError cause={submission.cause} />
      <button
        type="button"
        className={classes.fold}
        aria-expanded={isOpen}
        onClick={() => {
          setIsOpen(!isOpen)
        }}
      >
        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={14} />
        {state === 'held' ? t('whatChanged') : t('definition')}
        <span className="muted note">
          <Time at={tool.changed_at} isRelative />
        </span>
      </button>
      {isOpen && <Change before={state === 'held' ? allowed : null} after={shown} />}
      {isTrying && tool.name !== null && (
        <TryTool
          name={tool.name}
          schema={allowed?.input_schema ?? {}}
          onClose={() => {
            setIsTrying(false)
          }}
        />
      )}
    </li>
  )
}

interface ChangeProps {
  /** Null: there is nothing to compare with. */
  readonly before: Definition | null
  readonly after: Definition | null
}

/** A definition, line by line; what was removed and added since it was allowed is marked by a sign and a colour. */
function Change({ before, after }: ChangeProps): ReactNode {
  const t = useWords('tools')
  const text = after === null ? '' : textOf(after)
  const lines = lineDiff(before === null ? text : textOf(before), text)
  return (
    <pre className={classes.change} tabIndex={0} aria-label={before === null ? t('definition') : t('whatChanged')}>
      {lines.map(({ kind, text: one }, at) => (
        <span key={at} className={classes.line} data-kind={kind}>
          {SIGNS[kind]}
          {one}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

const SIGNS = { same: '  ', added: '+ ', removed: '− ' } as const

function textOf({ title, description, input_schema: input, output_schema: output, annotations }: Definition): string {
  const parts = [
    ...(title === null ? [] : [title]),
    description,
    JSON.stringify(input, null, 2),
    ...(output === null ? [] : [JSON.stringify(output, null, 2)]),
    ...(Object.keys(annotations).length === 0 ? [] : [JSON.stringify(annotations, null, 2)]),
  ]
  return parts.join('\n')
}
