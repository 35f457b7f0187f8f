import { Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { money, movedMicroOf } from '../../format/money.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { toast } from '../../parts/toasts.tsx'
import { useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'

const FIELDS = ['amount', 'reference']

interface MoveMoneyProps {
  readonly enterpriseId: string
  readonly kind: 'topup' | 'adjust'
  readonly currency: string
  readonly onClose: () => void
}

/** Credits a wallet; or, for admins of the platform, pays back or corrects. The same reference is booked once. */
export function MoveMoney({ enterpriseId, kind, currency, onClose }: MoveMoneyProps): ReactNode {
  const t = useWords('wallet')
  const locale = useLocale()
  const [correction, setCorrection] = useState<'refund' | 'adjustment'>('refund')
  const [amount, setAmount] = useState('')
  const [reference, setReference] = useState('')
  const [wrong, setWrong] = useState<'amount' | 'reference' | null>(null)
  const submission = useSubmission(FIELDS)
  const moved = movedMicroOf(kind === 'topup' ? 'topup' : correction, amount)
  const submit = async (): Promise<void> => {
    if (moved === null) {
      setWrong('amount')
      return
    }
    if (reference.trim() === '') {
      setWrong('reference')
      return
    }
    setWrong(null)
    const params = { id: enterpriseId }
    const shared = { amount: moved, reference: reference.trim() }
    await submission.run(async () => {
      const wallet =
        kind === 'topup'
          ? await call('topUpWallet', { params, body: { ...shared, currency } })
          : await call('adminAdjustWallet', { params, body: { ...shared, kind: correction } })
      await refresh('getWallet', 'walletStatement')
      toast('good', t('done', { balance: money(wallet.balance, { locale, currency }) }))
      onClose()
    })
  }
  return (
    <FormDialog
      title={kind === 'topup' ? t('topUp') : t('adjust')}
      act={kind === 'topup' ? t('topUp') : t('book')}
      size={440}
      submission={submission}
      onSubmit={() => {
        void submit()
      }}
      onClose={onClose}
    >
      {kind === 'adjust' && (
        <Select
          label={t('correction')}
          value={correction}
          data={(['refund', 'adjustment'] as const).map((value) => ({ value, label: t(`kinds.${value}`) }))}
          onChange={(value) => {
            setCorrection(value ?? 'refund')
          }}
        />
      )}
      <TextInput
        label={t('amountIn', { currency })}
        description={kind === 'topup' ? t('amountAbout') : t(`amountOf.${correction}`)}
        inputMode="decimal"
        autoComplete="off"
        data-autofocus
        value={amount}
        error={wrong === 'amount' ? t('amountWrong') : submission.toldOf('amount')}
        onChange={(event) => {
          setAmount(event.currentTarget.value)
          setWrong(null)
        }}
      />
      <TextInput
        label={t('reference')}
        description={t('referenceAbout')}
        autoComplete="off"
        maxLength={200}
        value={reference}
        error={wrong === 'reference' ? t('referenceWrong') : submission.toldOf('reference')}
        onChange={(event) => {
          setReference(event.currentTarget.value)
          setWrong(null)
        }}
      />
    </FormDialog>
  )
}
