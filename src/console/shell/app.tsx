import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useRead } from '../api/queries.ts'
import { useSessionState, useVisit } from '../api/session.ts'
import { Toasts } from '../parts/toasts.tsx'
import { Boundary, Failed } from '../parts/states.tsx'
import { LoginPage, LoginOver } from './login.tsx'
import { Shell } from './shell.tsx'
import { RESET_PASSWORD, visitorPageAt } from './visitors.tsx'

export function App(): ReactNode {
  const session = useSessionState()
  const visit = useVisit()
  const [location] = useLocation()
  // The link of an e-mail sets a password also where somebody is logged in: perhaps it is another person.
  const isVisitor = session === 'none' || location === RESET_PASSWORD
  return (
    <>
      <Boundary name="app">{isVisitor ? <Visitor location={location} /> : <LoggedIn key={visit} />}</Boundary>
      {session === 'expired' && !isVisitor && <LoginOver />}
      <Toasts />
    </>
  )
}

function Visitor({ location }: { readonly location: string }): ReactNode {
  return visitorPageAt(location) ?? <LoginPage />
}

function LoggedIn(): ReactNode {
  const me = useRead('me', {}, { staleMs: 60_000 })
  if (me.data !== undefined) return <Shell account={me.data} />
  if (me.isError)
    return (
      <Failed
        cause={me.error}
        retry={() => {
          void me.refetch()
        }}
      />
    )
  return null
}
