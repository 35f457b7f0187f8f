import './theme/mantine.ts'
import './theme/global.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { queryClient } from './api/queries.ts'
import { startSession } from './api/session.ts'
import { dismissAll } from './parts/toasts.tsx'
import { App } from './shell/app.tsx'
import { themeManager } from './theme/theme-manager.ts'
import { cssVariables, theme } from './theme/theme.ts'
import { startWords } from './words/index.ts'

/** Styles that scripts insert carry the nonce of this response; the policy refuses all others. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
setNonce(nonce)

startSession({
  // The next person at this browser sees nothing of the one before.
  onEnd: () => {
    queryClient.clear()
    dismissAll()
  },
  onConflict: () => queryClient.invalidateQueries(),
})
await startWords()
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root.')
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={themeManager}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Router base="/console">
          <App />
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
