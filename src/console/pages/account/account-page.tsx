import type { ReactNode } from 'react'
import { Facts } from '../../parts/facts.tsx'
import { Page } from '../../parts/page.tsx'
import { Nothing } from '../../parts/values.tsx'
import { useAccount } from '../../shell/scope.ts'
import { useWords } from '../../words/index.ts'
import { EmailSection } from './email-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { AccountSection } from './section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { TotpSection } from './totp-section.tsx'
import classes from './account.module.css'

export function AccountPage(): ReactNode {
  const t = useWords('account')
  return (
    <Page title={t('title')} about={t('about')}>
      <div className={classes.column}>
        <Profile />
        <EmailSection />
        <PasswordSection />
        <TotpSection />
        <SessionsSection />
      </div>
    </Page>
  )
}

function Profile(): ReactNode {
  const t = useWords('account')
  const common = useWords('common')
  const { name, phone, role, enterprises } = useAccount()
  const memberships = enterprises.map((one) => `${one.name} (${common(`roles.${one.role}`)})`)
  return (
    <AccountSection title={t('profile')}>
      <Facts
        rows={[
          [t('name'), name],
          [t('phone'), phone ?? <Nothing key="phone" why={t('noPhone')} />],
          [t('role'), t(`roles.${role}`)],
          [
            t('enterprises'),
            memberships.length === 0 ? <Nothing key="none" why={t('noEnterprises')} /> : memberships.join(', '),
          ],
        ]}
      />
    </AccountSection>
  )
}
