import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
]

/** The browser of tests and benches: `SLUICE_TEST_CHROMIUM`, or the one of the system; null when there is none. */
export const CHROMIUM: string | null = process.env['SLUICE_TEST_CHROMIUM'] ?? PLACES.find(existsSync) ?? null

export const NO_CHROMIUM = 'skipped: no Chromium (apt-get install chromium, or set SLUICE_TEST_CHROMIUM)'

/** Nothing but loopback: no proxy, no name that resolves, nothing that the browser does on its own. */
const OPTIONS = [
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-sync',
  '--metrics-recording-only',
  '--no-first-run',
  '--no-pings',
  '--force-color-profile=srgb',
  '--disable-features=MediaRouter,OptimizationHints,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater',
]

export async function openBrowser(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error(NO_CHROMIUM)
  const { PATH = '', HOME = '' } = process.env
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: CHROMIUM, args: [...OPTIONS, ...asRoot], env: { PATH, HOME } })
}
