import { Button, Modal, PasswordInput, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { failureOf } from '../api/failures.ts'
import { useRead } from '../api/queries.ts'
import { forgetSession, logIn, logInByCode } from '../api/session.ts'
import { duration } from '../format/numbers.ts'
import { Icon } from '../parts/icons.tsx'
import { useLocale } from '../parts/values.tsx'
import { FormError } from '../parts/states.tsx'
import { ApiError } from '../../client/index.ts'
import { useWords } from '../words/index.ts'
import { VisitorFrame } from './visitor-frame.tsx'
import { keepWay, keptWay, wayBack } from './way-back.ts'
import classes from './login.module.css'

const TICK_MS = 250
const SIGNED_IN = '/signed-in'
const METHODS = { staleMs: 300_000 } as const

/** Stands in for the page that was asked for, at its address: after the log-in, that page is there. */
export function LoginPage(): ReactNode {
  const t = useWords('common')
  const [location, navigate] = useLocation()
  const search = useSearch()
  const isInvited = location === '/invitation'
  const about = isInvited ? t('login.toJoin') : location === '/verify-email' ? t('login.toVerify') : t('login.about')
  return (
    <VisitorFrame title={t('login.title')} about={about}>
      {location === SIGNED_IN ? (
        <SignedIn />
      ) : (
        <>
          <LoginForm
            onDone={() => {
              if (location === '/login') navigate(wayBack(search), { replace: true })
            }}
          />
          <OtherWays isInvited={isInvited} />
        </>
      )}
    </VisitorFrame>
  )
}

/** The links for people without a password, or without an account. */
function OtherWays({ isInvited }: { readonly isInvited: boolean }): ReactNode {
  const t = useWords('common')
  const methods = useRead('signInMethods', {}, METHODS)
  const canRegister = isInvited || methods.data?.registration === true
  const canReset = methods.data?.password_reset === true
  if (!canRegister && !canReset) return null
  return (
    <p className={classes.ways}>
      {canReset && <Link href="/forgot-password">{t('login.forgot')}</Link>}
      {canRegister && <Link href={isInvited ? `/register${location.hash}` : '/register'}>{t('login.register')}</Link>}
    </p>
  )
}

/** Over the page when the session has ended: what was typed stays, and what was asked for goes on. */
export function LoginOver(): ReactNode {
  const t = useWords('common')
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={t('login.expired')}
      size={400}
      zIndex={500}
    >
      <p className={classes.about}>{t('login.expiredAbout')}</p>
      <LoginForm onDone={() => undefined} />
      <button type="button" className={classes.leave} onClick={forgetSession}>
        {t('login.leave')}
      </button>
    </Modal>
  )
}

function LoginForm({ onDone }: { readonly onDone: () => void }): ReactNode {
  const t = useWords('common')
  const [phone, setPhone] = useState('')
  const [password, setPassword] = useState('')
  const [cause, setCause] = useState<unknown>(null)
  const [code, setCode] = useState('')
  const [isCodeAsked, setIsCodeAsked] = useState(false)
  const [isBusy, setIsBusy] = useState(false)
  const { leftMs: waitMs, start: startWait } = useCountdown()
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setIsBusy(true)
    setCause(null)
    try {
      await logIn(phone.trim(), password, isCodeAsked ? code.trim() : null)
      onDone()
    } catch (failed) {
      const isAsking = failed instanceof ApiError && failed.code === 'CODE_REQUIRED'
      if (isAsking) setIsCodeAsked(true)
      setCause(isAsking ? null : failed)
      startWait(failureOf(failed).waitMs ?? 0)
    } finally {
      setIsBusy(false)
    }
  }
  const fieldError = cause instanceof ApiError && cause.statusCode === 400 ? failureOf(cause) : null
  const isComplete = phone.trim() !== '' && password !== '' && (!isCodeAsked || code.trim() !== '')
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        void submit(event)
      }}
      noValidate
    >
      <TextInput
        label={t('login.phone')}
        description={t('login.phoneHint')}
        type="tel"
        name="username"
        autoComplete="username"
        value={phone}
        error={fieldError?.field === 'phone' ? (fieldError.detail ?? fieldError.title) : undefined}
        onChange={(event) => {
          setPhone(event.currentTarget.value)
        }}
        data-autofocus
        autoFocus
      />
      <PasswordInput
        label={t('login.password')}
        name="password"
        autoComplete="current-password"
        value={password}
        visibilityToggleButtonProps={{ 'aria-label': t('login.showPassword') }}
        onChange={(event) => {
          setPassword(event.currentTarget.value)
        }}
      />
      {isCodeAsked && (
        <TextInput
          label={t('login.code')}
          description={t('login.codeHint')}
          name="one-time-code"
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => {
            setCode(event.currentTarget.value)
          }}
          autoFocus
        />
      )}
      {cause !== null && fieldError?.field !== 'phone' && <LoginFailure cause={cause} waitMs={waitMs} />}
      <Button type="submit" fullWidth loading={isBusy} disabled={!isComplete || waitMs > 0}>
        {t('login.submit')}
      </Button>
      <Provider />
    </form>
  )
}

/** The button of the OpenID provider, where there is one. The page that was asked for is found again afterwards. */
function Provider(): ReactNode {
  const t = useWords('common')
  const methods = useRead('signInMethods', {}, METHODS)
  const oidc = methods.data?.oidc ?? null
  if (oidc === null) return null
  return (
    <>
      <span className={classes.or}>{t('login.or')}</span>
      <Button
        variant="default"
        fullWidth
        onClick={() => {
          keepWay(`${location.pathname}${location.search}`)
          location.assign(oidc.start_path)
        }}
      >
        {t('login.provider', { label: oidc.label })}
      </Button>
    </>
  )
}

/** The browser is back from the provider, with a code or an error behind the `#`. */
function SignedIn(): ReactNode {
  const t = useWords('common')
  const [, navigate] = useLocation()
  const [cause, setCause] = useState<unknown>(null)
  useEffect(() => {
    const told = new URLSearchParams(location.hash.slice(1))
    const code = told.get('code')
    if (code === null && told.get('error') === null) return
    // A code counts once, and nobody needs to read it from the address.
    history.replaceState(history.state, '', location.pathname)
    const way = wayBack(`?${new URLSearchParams({ back: keptWay() }).toString()}`)
    if (code === null) {
      queueMicrotask(() => {
        setCause(new SignInFailed())
      })
      return
    }
    logInByCode(code, () => {
      navigate(way, { replace: true })
    }).catch(setCause)
  }, [navigate])
  if (cause === null) return <p className={classes.about}>{t('login.signingIn')}</p>
  return (
    <div className={classes.form}>
      <FormError cause={cause} />
      <Button
        onClick={() => {
          navigate(wayBack(`?${new URLSearchParams({ back: keptWay() }).toString()}`), { replace: true })
        }}
      >
        {t('login.again')}
      </Button>
    </div>
  )
}

class SignInFailed extends ApiError {
  constructor() {
    super({
      statusCode: 401,
      type: 'auth_error',
      message: '',
      code: 'SIGN_IN_FAILED',
      param: null,
      requestId: null,
      retryAfterMs: null,
    })
  }
}

function LoginFailure({ cause, waitMs }: { readonly cause: unknown; readonly waitMs: number }): ReactNode {
  const t = useWords('common')
  const locale = useLocale()
  if (waitMs > 0) {
    return (
      <p role="alert" className={classes.wait}>
        <Icon name="clock" />
        {t('login.wait', { wait: duration(waitMs, locale) })}
      </p>
    )
  }
  if (cause instanceof ApiError && cause.code === 'LOGIN_THROTTLED') {
    return (
      <p role="status" className={classes.wait}>
        <Icon name="clock" />
        {t('login.waitOver')}
      </p>
    )
  }
  return <FormError cause={cause} />
}

/** Counts down what is left of the wait that the gateway asked for, in whole seconds. */
function useCountdown(): { readonly leftMs: number; readonly start: (ms: number) => void } {
  const [until, setUntil] = useState(0)
  const [now, setNow] = useState(0)
  const isRunning = until > now
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => {
      setNow(performance.now())
    }, TICK_MS)
    return () => {
      clearInterval(timer)
    }
  }, [isRunning])
  const start = (ms: number): void => {
    const at = performance.now()
    setNow(at)
    setUntil(at + ms)
  }
  return { leftMs: Math.max(0, Math.ceil((until - now) / 1_000) * 1_000), start }
}
