import { Select } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { useSearchText } from '../../parts/search-text.ts'
import { useMemberDetail } from '../members/member-calls.ts'

const MOST = 100
const MIN_SEARCH = 2

interface MemberSelectProps {
  readonly enterpriseId: string
  readonly isAllowed: boolean
  readonly label: string
  /** Empty: nobody. */
  readonly value: string
  readonly nobody: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
}

/** One of the members: what is typed is searched for at the gateway, and the present one stays among the choices. */
export function MemberSelect(props: MemberSelectProps): ReactNode {
  const { enterpriseId: id, isAllowed, label, value, nobody, error, onChange } = props
  const [typed, setTyped] = useState('')
  const present = useMemberDetail(id, isAllowed && value !== '' ? value : null)
  const name = value === '' ? nobody : present.data?.data.user.name
  // The field has the name of the present one until something else is typed.
  const search = useSearchText(typed === name ? '' : typed, MIN_SEARCH)
  const list = useRead(
    'listMembers',
    { params: { id }, query: { limit: MOST, ...search } },
    { isEnabled: isAllowed, keepsOld: true },
  )
  const found = (list.data?.data ?? []).map((member) => ({ value: member.id, label: member.user.name }))
  const isFound = value === '' || found.some((one) => one.value === value)
  return (
    <Select
      label={label}
      value={value}
      error={error}
      searchable
      data={[{ value: '', label: nobody }, ...found, ...(isFound ? [] : [{ value, label: name ?? value }])]}
      onSearchChange={setTyped}
      onChange={(chosen) => {
        onChange(chosen ?? '')
      }}
    />
  )
}
