import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyButton, CopyIcon } from '../../parts/copy.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { toast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../parts/submission.ts'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { QrCode } from './qr-code.tsx'
import { AccountSection, OwnPassword } from './section.tsx'
import forms from '../../parts/form.module.css'
import classes from './account.module.css'

type Dialog = 'setUp' | 'renew' | 'turnOff'

/** One-time passwords as a second factor. Secret and recovery codes are in the state of their dialog alone. */
export function TotpSection(): ReactNode {
  const t = useWords('account')
  const { totp: isOn } = useAccount()
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const close = (): void => {
    setDialog(null)
  }
  const opener = (which: Dialog, label: string): ReactNode => (
    <Button
      variant="default"
      onClick={() => {
        setDialog(which)
      }}
    >
      {label}
    </Button>
  )
  return (
    <AccountSection title={t('totp.title')}>
      <div className={classes.line}>
        {isOn ? (
          <Badge tone="good" icon="shield">
            {t('totp.on')}
          </Badge>
        ) : (
          <Badge tone="plain" icon="power">
            {t('totp.off')}
          </Badge>
        )}
        <span>{isOn ? t('totp.onAbout') : t('totp.offAbout')}</span>
      </div>
      <div className={classes.line}>
        {isOn ? (
          <>
            {opener('renew', t('totp.renew'))}
            {opener('turnOff', t('totp.turnOff'))}
          </>
        ) : (
          opener('setUp', t('totp.setUp'))
        )}
      </div>
      {dialog === 'setUp' && <SetUp onClose={close} />}
      {dialog === 'renew' && <Renew onClose={close} />}
      {dialog === 'turnOff' && <TurnOff onClose={close} />}
    </AccountSection>
  )
}

interface Enrolment {
  readonly secret: string
  readonly uri: string
}

function SetUp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const [password, setPassword] = useState('')
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const begin = useSubmission(['password'], { LOGIN_FAILED: 'password' })
  const enrol = async (): Promise<void> => {
    setEnrolment(await call('enrolTotp', { body: { password } }, { maxRetries: 0 }))
    setPassword('')
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={onClose} />
  if (enrolment !== null) {
    return <Confirmation enrolment={enrolment} onClose={onClose} onCodes={setCodes} />
  }
  return (
    <FormDialog
      title={t('totp.title')}
      act={t('totp.begin')}
      size={480}
      submission={begin}
      isDisabled={password === ''}
      onSubmit={() => {
        void begin.run(enrol)
      }}
      onClose={onClose}
    >
      <OwnPassword value={password} error={begin.toldOf('password')} onChange={setPassword} />
    </FormDialog>
  )
}

interface ConfirmationProps {
  readonly enrolment: Enrolment
  readonly onClose: () => void
  readonly onCodes: (codes: readonly string[]) => void
}

function Confirmation({ enrolment, onClose, onCodes }: ConfirmationProps): ReactNode {
  const t = useWords('account')
  const [code, setCode] = useState('')
  const confirm = useSubmission(['code'], { CODE_INVALID: 'code' })
  const turnOn = async (): Promise<void> => {
    const made = await call('confirmTotp', { body: { code: code.trim() } }, { maxRetries: 0 })
    onCodes(made.recovery_codes)
    await refresh('me')
  }
  return (
    <FormDialog
      title={t('totp.title')}
      act={t('totp.confirm')}
      size={480}
      submission={confirm}
      isDisabled={code.trim().length < MIN_CODE}
      onSubmit={() => {
        void confirm.run(turnOn)
      }}
      onClose={onClose}
    >
      <p className={classes.text}>{t('totp.scan')}</p>
      <QrCode text={enrolment.uri} label={t('totp.picture')} />
      <div className={classes.secret}>
        <span>{t('totp.secret')}</span>
        <code data-testid="totp-secret">{enrolment.secret}</code>
        <CopyIcon text={enrolment.secret} label={t('totp.copySecret')} />
      </div>
      <CodeInput label={t('totp.code')} value={code} error={confirm.toldOf('code')} onChange={setCode} />
    </FormDialog>
  )
}

/** Of codes of authenticators; recovery codes are longer. */
const MIN_CODE = 6

interface CodeInputProps {
  readonly label: string
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
}

function CodeInput({ label, value, error, onChange }: CodeInputProps): ReactNode {
  return (
    <TextInput
      label={label}
      autoComplete="one-time-code"
      spellCheck={false}
      value={value}
      error={error}
      onChange={(event) => {
        onChange(event.currentTarget.value)
      }}
      data-autofocus
    />
  )
}

/** They are shown once: a stray click or key must not lose them. */
function RecoveryCodes({
  codes,
  onClose,
}: {
  readonly codes: readonly string[]
  readonly onClose: () => void
}): ReactNode {
  const t = useWords('account')
  const text = codes.join('\n')
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('totp.recovery')}
      size={480}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <div className={`${forms.form} ${forms.wide}`}>
        <p className={classes.text}>{t('totp.recoveryAbout')}</p>
        <ul className={classes.codes} aria-label={t('totp.recovery')}>
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <div className={forms.acts}>
          <CopyButton text={text} label={t('totp.copyCodes')} />
          <Button
            variant="default"
            onClick={() => {
              saveFile(new Blob([`${text}\n`], { type: 'text/plain' }), 'sluice-recovery-codes.txt')
            }}
          >
            {t('totp.downloadCodes')}
          </Button>
          <Button onClick={onClose}>{t('totp.kept')}</Button>
        </div>
      </div>
    </Modal>
  )
}

function Renew({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const [password, setPassword] = useState('')
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const form = useSubmission(['password'], { LOGIN_FAILED: 'password' })
  const submit = async (): Promise<void> => {
    setCodes((await call('renewRecoveryCodes', { body: { password } }, { maxRetries: 0 })).recovery_codes)
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={onClose} />
  return (
    <FormDialog
      title={t('totp.renew')}
      act={t('totp.renewSubmit')}
      size={480}
      submission={form}
      isDisabled={password === ''}
      onSubmit={() => {
        void form.run(submit)
      }}
      onClose={onClose}
    >
      <p className={classes.text}>{t('totp.renewAbout')}</p>
      <OwnPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
    </FormDialog>
  )
}

function TurnOff({ onClose }: { readonly onClose: () => void }): ReactNode {
  const t = useWords('account')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const form = useSubmission(['password', 'code'], { LOGIN_FAILED: 'password', CODE_INVALID: 'code' })
  const submit = async (): Promise<void> => {
    await call('disableTotp', { body: { password, code: code.trim() } }, { maxRetries: 0 })
    toast('good', t('totp.turnedOff'))
    onClose()
    await refresh('me')
  }
  return (
    <FormDialog
      title={t('totp.turnOff')}
      act={t('totp.turnOff')}
      isDanger
      size={480}
      submission={form}
      isDisabled={password === '' || code.trim().length < MIN_CODE}
      onSubmit={() => {
        void form.run(submit)
      }}
      onClose={onClose}
    >
      <p className={classes.text}>{t('totp.turnOffAbout')}</p>
      <OwnPassword value={password} error={form.toldOf('password')} onChange={setPassword} />
      <CodeInput label={t('totp.codeOrRecovery')} value={code} error={form.toldOf('code')} onChange={setCode} />
    </FormDialog>
  )
}
