import { Button, Modal, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { failureOf } from '../../api/failures.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { microOf, money } from '../../format/money.ts'
import { FormError } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { useLocale } from '../../parts/values.tsx'
import { useWords } from '../../words/index.ts'
import classes from './wallet-page.module.css'

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
  const common = useWords('common')
  const locale = useLocale()
  const [correction, setCorrection] = useState<'refund' | 'adjustment'>('refund')
  const [amount, setAmount] = useState('')
  const [reference, setReference] = useState('')
  const [wrong, setWrong] = useState<'amount' | 'reference' | null>(null)
  const [cause, setCause] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const typed = amount.trim()
  const isNegative = kind === 'adjust' && (correction === 'refund' || typed.startsWith('-'))
  const size = microOf(typed.replace(/^-/, ''))
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (size === null || size === 0) {
      setWrong('amount')
      return
    }
    if (reference.trim() === '') {
      setWrong('reference')
      return
    }
    setWrong(null)
    setCause(null)
    setIsBusy(true)
    const params = { id: enterpriseId }
    const shared = { amount: isNegative ? -size : size, reference: reference.trim() }
    try {
      const wallet =
        kind === 'topup'
          ? await call('topUpWallet', { params, body: { ...shared, currency } })
          : await call('adminAdjustWallet', { params, body: { ...shared, kind: correction } })
      await refresh('getWallet', 'walletStatement')
      toast('good', t('done', { balance: money(wallet.balance, { locale, currency }) }))
      onClose()
    } catch (failed) {
      setCause(failed)
    } finally {
      setIsBusy(false)
    }
  }
  const failure = cause === null ? null : failureOf(cause)
  const field = failure?.field ?? null
  const told = (name: string): string | undefined => (field === name ? (failure?.detail ?? failure?.title) : undefined)
  return (
    <Modal
      opened
      onClose={onClose}
      title={kind === 'topup' ? t('topUp') : t('adjust')}
      size={440}
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          void submit(event)
        }}
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
          error={wrong === 'amount' ? t('amountWrong') : told('amount')}
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
          error={wrong === 'reference' ? t('referenceWrong') : told('reference')}
          onChange={(event) => {
            setReference(event.currentTarget.value)
            setWrong(null)
          }}
        />
        {(field === null || !FIELDS.includes(field)) && <FormError cause={cause} />}
        <div className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" loading={isBusy}>
            {kind === 'topup' ? t('topUp') : t('book')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}
