import { Modal } from '@mantine/core'
import { Fragment } from 'react'
import type { ReactNode } from 'react'
import type { PAGES } from '../pages/index.ts'
import { useWords } from '../words/index.ts'
import classes from './keyboard-help.module.css'

interface HelpProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly pages: typeof PAGES
}

export function KeyboardHelp({ isOpen, onClose, pages }: HelpProps): ReactNode {
  const t = useWords('common')
  const everywhere: ReadonlyArray<readonly [string, readonly string[]]> = [
    [t('help.palette'), ['Ctrl K']],
    [t('help.help'), ['?']],
    ...pages.map(({ id, letter }) => [t('help.go', { page: t(`pages.${id}`) }), ['G', letter.toUpperCase()]] as const),
    [t('help.close'), ['Esc']],
  ]
  const lists: ReadonlyArray<readonly [string, readonly string[]]> = [
    [t('help.search'), ['/']],
    [t('help.next'), ['J']],
    [t('help.previous'), ['K']],
    [t('help.open'), ['Enter']],
  ]
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t('help.title')}
      size={440}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <h3 className={classes.head}>{t('help.everywhere')}</h3>
      <Rows rows={everywhere} />
      <h3 className={classes.head}>{t('help.lists')}</h3>
      <Rows rows={lists} />
    </Modal>
  )
}

function Rows({ rows }: { readonly rows: ReadonlyArray<readonly [string, readonly string[]]> }): ReactNode {
  const t = useWords('common')
  return (
    <dl className={classes.rows}>
      {rows.map(([text, keys]) => (
        <div key={text} className={classes.row}>
          <dt>{text}</dt>
          <dd className={classes.keys}>
            {keys.map((key, at) => (
              <Fragment key={key}>
                {at > 0 && <span className="muted note">{t('help.then')}</span>}
                <kbd className={classes.key}>{key}</kbd>
              </Fragment>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  )
}
