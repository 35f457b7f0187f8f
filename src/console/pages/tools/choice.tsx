import { Select } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'

export const KEY_ID = /^key_\S+$/

interface ChoiceProps {
  readonly label: string
  /** Shown while nothing is chosen. */
  readonly none: string
  readonly value: string | null
  readonly data: ReadonlyArray<{ readonly id: string; readonly name: string }>
  /** The form of ids that may be typed besides those of `data`. */
  readonly idForm?: RegExp
  readonly error?: string | undefined
  readonly isDisabled?: boolean
  readonly onChange: (value: string | null) => void
}

/** One of the known; a value that is not known is shown as it is. */
export function Choice({
  label,
  none,
  value,
  data,
  idForm,
  error,
  isDisabled = false,
  onChange,
}: ChoiceProps): ReactNode {
  const [typed, setTyped] = useState('')
  const known = data.map(({ id, name }) => ({ value: id, label: name }))
  const others = [value ?? '', idForm?.test(typed) === true ? typed : ''].filter(
    (id, at, all) => id !== '' && all.indexOf(id) === at && known.every((one) => one.value !== id),
  )
  return (
    <Select
      label={label}
      placeholder={none}
      value={value}
      data={[...known, ...others.map((id) => ({ value: id, label: id }))]}
      searchable
      clearable
      error={error}
      disabled={isDisabled}
      clearButtonProps={{ 'aria-label': none }}
      onSearchChange={setTyped}
      onChange={onChange}
    />
  )
}
