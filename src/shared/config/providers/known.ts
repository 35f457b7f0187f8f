import { ENGINES } from './engines.ts'
import { HOSTS } from './hosts.ts'
import type { KnownProvider } from './provider.ts'
import { VENDORS } from './vendors.ts'

/** All providers that are known by name. To add one, add a row to one of the three tables. */
export const KNOWN_PROVIDERS: readonly KnownProvider[] = [...VENDORS, ...HOSTS, ...ENGINES]

export function knownProvider(id: string): KnownProvider | undefined {
  return KNOWN_PROVIDERS.find((provider) => provider.id === id)
}
