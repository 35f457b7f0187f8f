import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Role } from '../api/rights.ts'
import type { Scope } from '../shell/scope.ts'
import { useWords } from '../words/index.ts'
import { inTreeOrder } from './department-tree.ts'
import { useDepartments } from './enterprise.ts'

const ROLES = ['employee', 'finance', 'admin', 'owner'] as const

interface RoleSelectProps {
  readonly scope: Scope
  readonly value: Role
  readonly error?: string | undefined
  readonly onChange: (role: Role) => void
}

/** A role, with a sentence of what it may do. Only owners give the role of an owner. */
export function RoleSelect({ scope, value, error, onChange }: RoleSelectProps): ReactNode {
  const common = useWords('common')
  const t = useWords('enterprise')
  const isOwner = scope.kind === 'enterprise' && scope.role === 'owner'
  return (
    <Select
      label={t('role')}
      description={t(`roleAbout.${value}`)}
      value={value}
      error={error}
      data={ROLES.filter((role) => isOwner || role !== 'owner' || value === 'owner').map((role) => ({
        value: role,
        label: common(`roles.${role}`),
      }))}
      disabled={value === 'owner' && !isOwner}
      renderOption={({ option }) => (
        <span>
          <span style={{ display: 'block', fontWeight: 500 }}>{option.label}</span>
          <span className="muted note">{t(`roleAbout.${option.value}`)}</span>
        </span>
      )}
      onChange={(role) => {
        onChange(role ?? value)
      }}
    />
  )
}

interface DepartmentSelectProps {
  readonly scope: Scope
  readonly label: string
  /** The label of no department. */
  readonly none: string
  /** Empty: none. */
  readonly value: string
  /** These cannot be chosen. */
  readonly without?: ReadonlySet<string>
  readonly description?: string
  readonly error?: string | undefined
  readonly onChange: (id: string) => void
}

const INDENT = '\u2003'

/** One of the departments, indented as their tree is. */
export function DepartmentSelect(props: DepartmentSelectProps): ReactNode {
  const { scope, label, none, value, without, description, error, onChange } = props
  const placed = inTreeOrder(useDepartments(scope) ?? [])
  return (
    <Select
      label={label}
      description={description}
      value={value}
      error={error}
      searchable
      data={[
        { value: '', label: none },
        ...placed
          .filter(({ department }) => without?.has(department.id) !== true)
          .map(({ department, depth }) => ({
            value: department.id,
            label: `${INDENT.repeat(depth)}${department.name}`,
          })),
      ]}
      onChange={(id) => {
        onChange(id ?? '')
      }}
    />
  )
}
