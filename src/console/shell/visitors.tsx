import { lazy, Suspense } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { loadWords } from '../words/index.ts'

/** E-mails lead here. */
export const RESET_PASSWORD = '/reset-password'

function visitorPage<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): ComponentType {
  return lazy<ComponentType>(async () => {
    const [module] = await Promise.all([load(), loadWords('account')])
    return { default: module[name] }
  })
}

const PAGES: Readonly<Partial<Record<string, ComponentType>>> = {
  [RESET_PASSWORD]: visitorPage(() => import('./password-reset.tsx'), 'ResetPassword'),
  '/forgot-password': visitorPage(() => import('./password-reset.tsx'), 'ForgotPassword'),
  '/register': visitorPage(() => import('./register.tsx'), 'Register'),
}

/** The pages besides the log-in that need no session; null at any other address. */
export function visitorPageAt(location: string): ReactNode {
  const Page = PAGES[location]
  if (Page === undefined) return null
  return (
    <Suspense fallback={null}>
      <Page />
    </Suspense>
  )
}
