import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ALERT_KINDS } from '../../shared/api/alert-kinds.ts'
import type { JournalHealth } from '../../shared/core/health.ts'
import type { RelayState, UpstreamKeyState } from '../../shared/core/relay-state.ts'
import type { Provider } from '../../shared/core/snapshot.ts'
import type { WatchedAlert } from '../store/alerts.ts'
import { oneLine, round } from './amounts.ts'
import type { Reading } from './crossing.ts'

const DAY_MS = 86_400_000
/** A key must be healthy for this time before it counts as healthy, so that a breaker that opens and closes is told once. */
const HOLD_MS = 60_000

/** The sources that only this machine can read. */
export interface MachineSources {
  /** The providers of the present snapshot. */
  readonly providers: () => readonly Provider[]
  readonly relay: () => RelayState
  readonly journal: () => JournalHealth
  /** The lag above which the journal counts as behind by configuration. */
  readonly alertLagMs: number
  /** The PEM file of the certificate that fronts serve; null: none. */
  readonly certFile: () => string | null
}

/** Providers without a usable key. */
export function readUpstreams({ providers, relay }: MachineSources): Reading[] {
  const states = statesOf(relay())
  return providers().flatMap(({ id, name: given, keys }) => {
    const enabled = keys.filter((key) => key.enabled)
    if (enabled.length === 0) return []
    const known = enabled.map((key) => states.get(key.id))
    const isOut = known.every((state) => state !== undefined && isBroken(state))
    const name = oneLine(given)
    const say = (): string => `The upstream ${name} (${id}) is out: none of its ${enabled.length} keys is usable.`
    return [yesOrNo(`upstream:${id}`, isOut ? 1 : known.some(isProven) ? 0 : null, { type: 'upstream', id, name, say })]
  })
}

/** Upstream keys that their provider has refused. */
export function readUpstreamKeys({ providers, relay }: MachineSources): Reading[] {
  const states = statesOf(relay())
  return providers().flatMap((provider) =>
    provider.keys
      .filter((key) => key.enabled)
      .map(({ id, name: given }) => {
        const state = states.get(id)
        const name = oneLine(given)
        const say = (): string =>
          `The key ${name} (${id}) of the upstream ${oneLine(provider.name)} (${provider.id}) is disabled: the provider refuses it.`
        const value = state?.state === 'disabled' ? 1 : isProven(state) ? 0 : null
        return yesOrNo(`upstream-key:${id}`, value, { type: 'upstream_key', id, name, say })
      }),
  )
}

/** The time by which the database is behind the journal of this machine. */
export function readJournal({ threshold }: WatchedAlert, node: string, sources: MachineSources): Reading {
  const seconds = sources.journal().lagMs / 1000
  const say = (level: number): string =>
    `The database is ${Math.round(seconds)} s behind the journal of the machine ${node}; the bound is ${round(level, 1)} s.`
  return {
    subject: `journal:${node}`,
    value: seconds,
    thresholds: [threshold ?? sources.alertLagMs / 1000],
    marginOf: (level) => level / 2,
    holdMs: 0,
    details: { type: 'machine', id: node, name: node, say, shownValue: round(seconds, 1) },
  }
}

/** The days that are left to the certificate that fronts serve. Without TLS there is none. */
export async function readCertificate(
  { threshold, kind }: WatchedAlert,
  certFile: string | null,
  nowMs: number,
): Promise<Reading[]> {
  if (certFile === null) return []
  const { fingerprint256: id, subject, validTo } = new X509Certificate(await readFile(certFile))
  const endMs = Date.parse(validTo)
  const days = (endMs - nowMs) / DAY_MS
  const name = oneLine(subject)
  const end = new Date(endMs).toISOString()
  const say = (): string =>
    days > 0
      ? `The certificate ${name} (${certFile}) expires in ${round(days, 1)} days, at ${end}.`
      : `The certificate ${name} (${certFile}) has expired at ${end}.`
  return [
    {
      subject: `certificate:${id}`,
      // Fewer days are worse, and crossings are upwards.
      value: -days,
      thresholds: (threshold === null ? ALERT_KINDS[kind].levels : [threshold])
        .map((level) => -level)
        .sort((one, other) => one - other),
      marginOf: () => 0.5,
      holdMs: 0,
      details: {
        type: 'certificate',
        id,
        name,
        say,
        shownValue: round(days, 1),
        thresholdOf: (level) => -level,
      },
    },
  ]
}

function statesOf({ keys }: RelayState): ReadonlyMap<string, UpstreamKeyState> {
  return new Map(keys.map((state) => [state.keyId, state]))
}

function isBroken({ state }: UpstreamKeyState): boolean {
  return state === 'disabled' || state === 'breaker-open' || state === 'half-open'
}

/** It is usable, and a call has shown it. A gateway that has just started takes all keys for usable. */
function isProven(state: UpstreamKeyState | undefined): boolean {
  return state !== undefined && !isBroken(state) && (state.calls['ok'] ?? 0) > 0
}

function yesOrNo(subject: string, value: number | null, details: Omit<Reading['details'], 'shownValue'>): Reading {
  return {
    subject,
    value,
    thresholds: [1],
    marginOf: () => 0,
    holdMs: HOLD_MS,
    details: { ...details, shownValue: null },
  }
}
