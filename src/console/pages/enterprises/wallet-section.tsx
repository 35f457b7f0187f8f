import { Button, SegmentedControl, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { movedMicroOf } from '../../format/money.ts'
import { Facts } from '../../parts/facts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Grid } from '../../parts/grid.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Failed } from '../../parts/states.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { Money, Nothing, Time } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import { adjustWallet, creditWallet } from './enterprise-calls.ts'
import layout from '../../parts/layout.module.css'

const MOST = 5

interface WalletSectionProps {
  readonly id: string
  readonly name: string
}

/** The money of an enterprise: what it has, what moved last, and paying in or back. */
export function WalletSection({ id, name }: WalletSectionProps): ReactNode {
  const t = useWords('enterprises')
  const [isMoving, setIsMoving] = useState(false)
  const wallet = useRead('getWallet', { params: { id } })
  const moves = useRead('listTransactions', { params: { id }, query: { limit: MOST } })
  if (wallet.isError) {
    return (
      <Failed
        cause={wallet.error}
        retry={() => {
          void wallet.refetch()
        }}
      />
    )
  }
  if (wallet.data === undefined) return null
  const { balance, credited, charged, currency } = wallet.data
  const rows = moves.data?.data ?? []
  return (
    <>
      <Facts
        rows={[
          [
            t('wallet.balance'),
            <strong key="balance" data-testid="balance">
              <Money micro={balance} currency={currency} />
            </strong>,
          ],
          [t('wallet.credited'), <Money key="credited" micro={credited} currency={currency} />],
          [t('wallet.charged'), <Money key="charged" micro={charged} currency={currency} />],
        ]}
      />
      <div className={layout.acts}>
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            setIsMoving(true)
          }}
        >
          {t('wallet.move')}
        </Button>
      </div>
      {rows.length === 0 ? (
        <p className="muted">{t('wallet.none')}</p>
      ) : (
        <Grid
          label={t('wallet.last')}
          rows={rows}
          idOf={(row) => row.id}
          columns={[
            { head: t('wallet.time'), cell: ({ time }) => <Time at={time} /> },
            { head: t('wallet.kind'), cell: ({ kind }) => t(`wallet.kinds.${kind}`) },
            {
              head: t('wallet.reference'),
              cell: ({ reference }) => reference ?? <Nothing why={t('wallet.noReference')} />,
            },
            {
              head: t('wallet.amount'),
              isNumber: true,
              cell: ({ amount }) => <Money micro={amount} currency={currency} />,
            },
          ]}
        />
      )}
      {isMoving && (
        <MoveMoney
          id={id}
          name={name}
          currency={currency}
          onClose={() => {
            setIsMoving(false)
          }}
        />
      )}
    </>
  )
}

const KINDS = ['topup', 'refund', 'adjustment'] as const

interface MoveMoneyProps extends WalletSectionProps {
  readonly currency: string
  readonly onClose: () => void
}

function MoveMoney({ id, name, currency, onClose }: MoveMoneyProps): ReactNode {
  const t = useWords('enterprises')
  const [kind, setKind] = useState<(typeof KINDS)[number]>('topup')
  const [amount, setAmount] = useState('')
  const [reference, setReference] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  const submission = useSubmission(['amount', 'reference'])
  const micro = movedMicroOf(kind, amount)
  const submit = async (): Promise<void> => {
    setIsChecked(true)
    if (micro === null || reference.trim() === '') return
    const moved = { amount: micro, reference: reference.trim() }
    const isDone = await submission.run(() =>
      kind === 'topup' ? creditWallet(id, { ...moved, currency }) : adjustWallet(id, kind, moved),
    )
    if (!isDone) return
    toast('good', t(`wallet.done.${kind}`))
    onClose()
  }
  return (
    <FormDialog
      title={t('wallet.title', { name })}
      act={t(`wallet.acts.${kind}`)}
      submission={submission}
      onClose={onClose}
      onSubmit={() => {
        void submit()
      }}
    >
      <SegmentedControl
        aria-label={t('wallet.kind')}
        value={kind}
        data={KINDS.map((value) => ({ value, label: t(`wallet.acts.${value}`) }))}
        onChange={(value) => {
          setKind(KINDS.find((one) => one === value) ?? 'topup')
        }}
      />
      <p style={{ margin: 0 }}>{t(`wallet.about.${kind}`)}</p>
      <TextInput
        label={t('wallet.amount')}
        value={amount}
        error={isChecked && micro === null ? t('errors.amount') : submission.toldOf('amount')}
        inputMode="decimal"
        rightSection={currency}
        rightSectionWidth={48}
        autoComplete="off"
        data-autofocus
        onChange={(event) => {
          setAmount(event.currentTarget.value)
        }}
      />
      <TextInput
        label={t('wallet.reference')}
        description={t('wallet.referenceHint')}
        value={reference}
        error={isChecked && reference.trim() === '' ? t('errors.reference') : submission.toldOf('reference')}
        maxLength={200}
        autoComplete="off"
        onChange={(event) => {
          setReference(event.currentTarget.value)
        }}
      />
    </FormDialog>
  )
}
