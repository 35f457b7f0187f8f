import { ActionIcon, Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRead } from '../../api/queries.ts'
import { inTreeOrder } from '../../parts/department-tree.ts'
import { enterpriseIdOf, useEnterprise } from '../../parts/enterprise.ts'
import type { Placed } from '../../parts/department-tree.ts'
import type { Department } from '../../parts/enterprise.ts'
import { Icon } from '../../parts/icons.tsx'
import { SpendMeter } from '../../parts/meter.tsx'
import { Page } from '../../parts/page.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Failed } from '../../parts/states.tsx'
import { Table, TableSkeleton } from '../../parts/table.tsx'
import type { Column } from '../../parts/table.tsx'
import { useUrlState } from '../../parts/url-state.ts'
import { Count, Money, Nothing } from '../../parts/values.tsx'
import { mayIn, pathIn } from '../../shell/scope.ts'
import type { Scope } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import type { PageProps } from '../page-props.ts'
import { bindingOf, chainAbove, inheritedOf, own } from './budget-chain.ts'
import type { ChainBudget } from './budget-chain.ts'
import { DeleteDepartment } from './delete-department.tsx'
import { CreateDepartment } from './department-form.tsx'
import { DepartmentPanel } from './department-panel.tsx'
import { MoveDepartment } from './move-department.tsx'
import formClasses from '../../parts/form.module.css'
import classes from './departments-page.module.css'

/** Stands in the place of an id. */
const NEW = 'new'

export function DepartmentsPage({ scope, open }: PageProps): ReactNode {
  const t = useWords('departments')
  const common = useWords('common')
  const url = useUrlState()
  const search = url.query.get('search') ?? ''
  const list = useRead('listDepartments', { params: { id: enterpriseIdOf(scope) } })
  const all = list.data?.data
  const rows = inTreeOrder(all ?? []).filter(({ department }) =>
    department.name.toLowerCase().includes(search.toLowerCase()),
  )
  const canManage = mayIn(scope, 'departments.manage')
  const base = pathIn(scope, '/departments')
  const close = (): void => {
    url.go(base, 'push', { below: null })
  }
  const isOpen = open !== null && open !== NEW
  useRowKeys({
    ids: rows.map(({ department }) => department.id),
    openId: isOpen ? open : null,
    onOpen: (id) => {
      url.go(`${base}/${encodeURIComponent(id)}`, isOpen ? 'replace' : 'push')
    },
  })
  const createButton = canManage && (
    <Button component={Link} href={url.at(`${base}/${NEW}`)} leftSection={<Icon name="plus" size={14} />}>
      {t('create')}
    </Button>
  )
  return (
    <Page title={t('title')} about={t('about')} acts={createButton}>
      <div className={formClasses.tools}>
        <SearchField
          value={search}
          label={t('search')}
          placeholder={t('search')}
          onSearch={(text) => {
            url.set({ search: text }, 'replace')
          }}
        />
      </div>
      {all === undefined && list.isError && (
        <Failed
          cause={list.error}
          retry={() => {
            void list.refetch()
          }}
        />
      )}
      {all === undefined && list.isPending && <TableSkeleton label={common('loading')} />}
      {all?.length === 0 && (
        <Empty icon="building" title={t('empty')} text={t('emptyAbout')}>
          {createButton}
        </Empty>
      )}
      {all !== undefined && all.length > 0 && rows.length === 0 && (
        <Empty icon="search" title={t('noMatch')}>
          <Button
            variant="default"
            onClick={() => {
              url.set({ search: null })
            }}
          >
            {common('clearFilters')}
          </Button>
        </Empty>
      )}
      {all !== undefined && rows.length > 0 && (
        <DepartmentTable
          scope={scope}
          all={all}
          rows={rows}
          isTree={search === ''}
          openId={open}
          hrefOf={({ department }) => url.at(`${base}/${encodeURIComponent(department.id)}`)}
        />
      )}
      {open === NEW && canManage && (
        <CreateDepartment scope={scope} parentId={url.query.get('below') ?? ''} onClose={close} />
      )}
      {isOpen && <DepartmentPanel scope={scope} departmentId={open} onClose={close} />}
    </Page>
  )
}

interface DepartmentTableProps {
  readonly scope: Scope
  readonly all: readonly Department[]
  readonly rows: readonly Placed[]
  /** False: the rows are those of a search. */
  readonly isTree: boolean
  readonly openId: string | null
  readonly hrefOf: (row: Placed) => string
}

type Dialog = { readonly kind: 'move' | 'delete'; readonly department: Department }

function DepartmentTable({ scope, all, rows, isTree, openId, hrefOf }: DepartmentTableProps): ReactNode {
  const t = useWords('departments')
  const words = useWords('enterprise')
  const enterprise = useEnterprise(scope).data
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const canManage = mayIn(scope, 'departments.manage')
  const above = (department: Department): readonly ChainBudget[] => chainAbove(all, department.parent_id, enterprise)
  const binding = (department: Department): ChainBudget | null => bindingOf([own(department), ...above(department)])
  const close = (): void => {
    setDialog(null)
  }
  const columns: ReadonlyArray<Column<Placed>> = [
    {
      id: 'name',
      head: t('name'),
      width: 'minmax(180px, 2fr)',
      cell: ({ department, depth }) => (
        <DepartmentName
          name={department.name}
          depth={isTree ? depth : 0}
          parent={all.find(({ id }) => id === department.parent_id)?.name ?? null}
        />
      ),
    },
    {
      id: 'spend',
      head: t('columns.spend'),
      width: 'minmax(130px, 176px)',
      isNumber: true,
      onPhone: true,
      cell: ({ department }) => <SpendMeter spend={department.spend} />,
    },
    {
      id: 'inherited',
      head: t('columns.inherited'),
      width: 'minmax(110px, 1fr)',
      isNumber: true,
      cell: ({ department }) => {
        const budget = inheritedOf(above(department))
        if (budget === null || budget.limit === null) return <Nothing why={t('noLimitAbove')} />
        return (
          <span title={t('of', { name: budget.name ?? t('platform') })}>
            <Money micro={budget.limit} />
          </span>
        )
      },
    },
    {
      id: 'left',
      head: t('columns.left'),
      width: 'minmax(90px, 112px)',
      isNumber: true,
      onPhone: true,
      cell: ({ department }) => {
        if (department.spend === null) return <Nothing why={t('hidden')} />
        const left = binding(department)?.remaining ?? null
        return left === null ? <Nothing why={t('noLimit')} /> : <Money micro={left} />
      },
    },
    {
      id: 'binds',
      head: t('columns.binds'),
      width: 'minmax(110px, 1.2fr)',
      cell: ({ department }) => {
        const budget = department.spend === null ? null : binding(department)
        if (budget === null) return <Nothing why={department.spend === null ? t('hidden') : t('noLimit')} />
        return budget.id === department.id ? t('itsOwn') : (budget.name ?? t('platform'))
      },
    },
    {
      id: 'members',
      head: t('columns.members'),
      width: '80px',
      isNumber: true,
      cell: ({ department }) => <Count value={department.members} />,
    },
  ]
  return (
    <>
      <Table
        label={t('title')}
        columns={columns}
        rows={rows}
        idOf={({ department }) => department.id}
        hrefOf={hrefOf}
        openId={openId}
        {...(canManage
          ? {
              actsOf: ({ department }: Placed) => (
                <Menu>
                  <Menu.Target>
                    <ActionIcon aria-label={t('actsOf', { name: department.name })}>
                      <Icon name="more" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item
                      leftSection={<Icon name="switch" size={14} />}
                      onClick={() => {
                        setDialog({ kind: 'move', department })
                      }}
                    >
                      {t('move')}
                    </Menu.Item>
                    <Menu.Item
                      leftSection={<Icon name="trash" size={14} />}
                      color="bad"
                      onClick={() => {
                        setDialog({ kind: 'delete', department })
                      }}
                    >
                      {words('delete')}
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              ),
            }
          : {})}
      />
      {dialog?.kind === 'move' && <MoveDepartment scope={scope} department={dialog.department} onClose={close} />}
      {dialog?.kind === 'delete' && (
        <DeleteDepartment scope={scope} department={dialog.department} onClose={close} onDeleted={() => undefined} />
      )}
    </>
  )
}

interface DepartmentNameProps {
  readonly name: string
  readonly depth: number
  readonly parent: string | null
}

function DepartmentName({ name, depth, parent }: DepartmentNameProps): ReactNode {
  const t = useWords('departments')
  return (
    <span className={classes.name} style={{ '--depth': depth } as React.CSSProperties}>
      {depth > 0 && <span className={classes.branch} aria-hidden="true" />}
      {name}
      {parent !== null && <span className="hidden">{t('below', { name: parent })}</span>}
    </span>
  )
}
