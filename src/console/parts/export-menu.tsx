import { Button, Menu } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../words/index.ts'
import { Icon } from './icons.tsx'

export type ExportFormat = 'csv' | 'ndjson'

interface ExportMenuProps {
  /** The rows that the file will have. */
  readonly about: string
  readonly isBusy: boolean
  /** Shown in place of the name of the button while it is busy; null: the page shows it elsewhere. */
  readonly progress: string | null
  readonly onExport: (format: ExportFormat) => void
}

/** A button that offers the formats of a file. It is disabled while one is made. */
export function ExportMenu({ about, isBusy, progress, onExport }: ExportMenuProps): ReactNode {
  const common = useWords('common')
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon name="download" size={14} />} disabled={isBusy}>
          {progress ?? common('export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{about}</Menu.Label>
        {(['csv', 'ndjson'] as const).map((format) => (
          <Menu.Item
            key={format}
            onClick={() => {
              onExport(format)
            }}
          >
            {common(`formats.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
