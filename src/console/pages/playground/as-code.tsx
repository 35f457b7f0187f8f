import { Modal, Tabs } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { CodeBlock } from '../../parts/code.tsx'
import { useWords } from '../../words/index.ts'
import { CODES, codeOf } from './code.ts'
import type { Code } from './code.ts'
import type { Prompt } from './prompt.ts'

/** The request as code for other programs. */
export function AsCode({ prompt, onClose }: { readonly prompt: Prompt; readonly onClose: () => void }): ReactNode {
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
