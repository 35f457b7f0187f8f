import { Button, TagsInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import type { useListState } from '../../parts/list-state.ts'
import { Pager } from '../../parts/pager.tsx'
import { Empty } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useWords } from '../../words/index.ts'
import { deleteGroup, putGroup } from './model-calls.ts'
import type { Group } from './model-calls.ts'
import layout from '../../parts/form.module.css'

const LIMIT = 50

/** Groups of models, which budgets may name. */
export function Groups({ state }: { readonly state: ReturnType<typeof useListState> }): ReactNode {
  const t = useWords('models')
  const { url, page, openId, isNew, newHref, hrefOf, close, onPage } = state
  const list = useRead('adminListModelGroups', { query: { limit: LIMIT, page } }, { keepsOld: true })
  const opened = list.data?.data.find(({ id }) => id === openId) ?? null
  return (
    <>
      <Listing
        list={list}
        noMatch={null}
        onClear={() => {
          url.set({ page: null })
        }}
        empty={
          <Empty icon="cube" title={t('groups.empty')} text={t('groups.emptyAbout')}>
            <Button component={Link} href={newHref} leftSection={<Icon name="plus" size={14} />}>
              {t('createGroup')}
            </Button>
          </Empty>
        }
      >
        {(rows) => (
          <>
            <Table
              label={t('tabs.groups')}
              rows={rows}
              idOf={({ id }) => id}
              hrefOf={({ id }) => hrefOf(id)}
              openId={openId}
              columns={[
                { id: 'id', head: t('columns.id'), width: 'minmax(120px, 1fr)', cell: ({ id }) => id },
                {
                  id: 'models',
                  head: t('title'),
                  width: 'minmax(160px, 3fr)',
                  onPhone: 'plain',
                  cell: ({ models }) => models.join(', '),
                },
                {
                  id: 'source',
                  head: t('columns.source'),
                  width: '110px',
                  cell: ({ source }) => <span className="muted">{t(`sources.${source}`)}</span>,
                },
              ]}
            />
            <Pager page={page} limit={LIMIT} total={list.data?.total ?? 0} onPage={onPage} />
          </>
        )}
      </Listing>
      {isNew && <GroupForm shown={null} onClose={close} />}
      {opened !== null && <GroupForm key={opened.id} shown={opened} onClose={close} />}
    </>
  )
}

function GroupForm({ shown, onClose }: { readonly shown: Group | null; readonly onClose: () => void }): ReactNode {
  const t = useWords('models')
  const common = useWords('common')
  const [id, setId] = useState(shown?.id ?? '')
  const [models, setModels] = useState<readonly string[]>(shown?.models ?? [])
  const [isChecked, setIsChecked] = useState(false)
  const [isDeleting, setIsDeleting] = useState(false)
  const submission = useSubmission(['id', 'models'])
  const isOfFile = shown?.source === 'file'
  const name = id.trim()
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (name === '' || models.length === 0) return
    if (!(await submission.run(() => putGroup(name, models)))) return
    toast('good', t('changed', { id: name }))
    onClose()
  }
  if (isDeleting && shown !== null) {
    return (
      <Confirm
        title={t('groups.deleteTitle', { id: shown.id })}
        act={t('groups.delete')}
        onClose={onClose}
        onConfirm={async () => {
          await deleteGroup(shown.id)
          toast('good', t('groups.deleted', { id: shown.id }))
        }}
      >
        <p>{t('groups.deleteAbout')}</p>
      </Confirm>
    )
  }
  return (
    <FormDialog
      title={shown === null ? t('createGroup') : shown.id}
      act={shown === null ? t('createGroup') : common('save')}
      submission={submission}
      isDisabled={isOfFile}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      {isOfFile && <p style={{ margin: 0 }}>{t('groups.ofFile')}</p>}
      <TextInput
        label={t('columns.id')}
        description={t('groups.idHint')}
        value={id}
        disabled={shown !== null}
        error={isChecked && name === '' ? t('errors.id') : submission.toldOf('id')}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setId(event.currentTarget.value)
        }}
      />
      <TagsInput
        label={t('title')}
        description={t('groups.modelsHint')}
        value={[...models]}
        disabled={isOfFile}
        error={isChecked && models.length === 0 ? t('errors.models') : submission.toldOf('models')}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        onChange={setModels}
      />
      {shown !== null && !isOfFile && (
        <div className={layout.acts}>
          <Button
            variant="default"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => {
              setIsDeleting(true)
            }}
          >
            {t('groups.delete')}
          </Button>
        </div>
      )}
    </FormDialog>
  )
}
